"""Trade-off cards: what must be low, what must be high, what is kept, each with its proof."""

from __future__ import annotations

from build_scripts.render.numbers import number
from build_scripts.spec.schema import Cards
from build_scripts.views.base import PageContext, Rendered

SIGNS = {"down": "↓", "up": "↑", "same": "="}


def render(block: Cards, page: PageContext) -> Rendered:
    cards = [
        {
            "card": card,
            "sign": SIGNS[card.sign],
            "number": number(page.lesson, card.number.readout, card.number.at) if card.number else None,
        }
        for card in block.cards
    ]
    return Rendered(page.template("cards.html", cards=cards))
