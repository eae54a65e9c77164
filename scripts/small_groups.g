# Invariants of every group of order <= 16 from GAP's small-groups library, as JSON.
# Needs gap-core and gap-smallgrp:  gap -q scripts/small_groups.g > tests/data/small_groups.json
Fact := function(key, value)
  return Concatenation("\"", key, "\": ", value);
end;;
Row := function(order, number)
  local group, orders, statistics;
  group := SmallGroup(order, number);
  orders := List(AsList(group), Order);
  statistics := List(Set(orders), o -> Concatenation("\"", String(o), "\": ", String(Number(orders, x -> x = o))));
  return Concatenation("{", JoinStringsWithSeparator([
    Fact("order", String(order)),
    Fact("number", String(number)),
    Fact("element_orders", Concatenation("{", JoinStringsWithSeparator(statistics, ", "), "}")),
    Fact("abelian", String(IsAbelian(group))),
    Fact("classes", String(NrConjugacyClasses(group))),
    Fact("centre", String(Size(Centre(group)))),
    Fact("derived", String(Size(DerivedSubgroup(group)))),
    Fact("automorphisms", String(Size(AutomorphismGroup(group)))),
    Fact("subgroups", String(Sum(ConjugacyClassesSubgroups(group), Size))),
    Fact("normal_subgroups", String(Length(NormalSubgroups(group))))
  ], ", "), "}");
end;;
rows := Concatenation(List([1 .. 16], order -> List([1 .. NumberSmallGroups(order)], number -> Row(order, number))));;
SizeScreen([4096, 24]);;
Print("[\n", JoinStringsWithSeparator(rows, ",\n"), "\n]\n");
QUIT;
