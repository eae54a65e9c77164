"""The model in other tools, and models of others here. Each tool is an extra, imported only when it is used.

huggingface.py       to_huggingface and from_huggingface: folders that transformers loads, checked by their logits
layouts.py           how Starcoder2 and GPT-NeoX name and store the same weights and settings
model_card.py        the files beside the weights: tokenizer and model card
transformer_lens.py  to_transformer_lens: TransformerLens's bridge, with its hook names and ours
nnsight.py           to_nnsight: the model inside nnsight, with every hook point
released.py          from_released: the checkpoints that the paper's authors released
importing.py         import_model: any of these sources as a checkpoint folder, for every experiment
"""
