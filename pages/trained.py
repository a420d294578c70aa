"""Trained models: what the heads of a real model do with the reader's own text."""

from attnviz.locale import _
from attnviz.ui.models import page

page.show(_("Type a text and see what the heads of a trained model do with it. Every number is the model's own."))
