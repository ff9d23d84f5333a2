"""A small vault of a beekeeper who also cooks: notes about hives, notes that mention them, and others."""

from __future__ import annotations

from collections.abc import Mapping

_HIVES = """---
tags: [bees]
status: active
aliases: [Hive]
---
A hive is the home of a colony of bees, with frames that can be taken out one by one.

## Choosing a hive

The Langstroth hive is the commonest hive by far. A top-bar hive needs less lifting, and holds less honey.

## Where a hive stands

Set each hive on a stand, with its entrance to the south-east and away from wind. See [[Swarms]] and [[Winter]].
"""

_SWARMS = """---
tags: [bees]
status: active
---
A hive that is crowded in May raises queen cells and swarms. This is how a hive makes another, see [[Hives]].

## Signs

Queen cells along the edge of the frames say that the hive will swarm within a week. The old queen grows thin.

## Catching one

A swarm hangs on a branch for an hour. Shake the swarm into an empty hive, and the queen will draw all others in.

## Keeping it from happening

Cut out queen cells every week, or split the hive before the swarm leaves. [[Ada Lovelace]] splits every hive in April.
"""

_WINTER = """---
tags: [bees]
status: active
---
In winter the hive lives from what it has stored: feed each hive sugar syrup until September. See [[Hives]].

## Feeding

Sugar syrup, two parts of sugar to one of water, goes into the feeder on top of the hive. A weak hive takes fondant.

## Mites

Treat the hive against varroa mites when it has no brood, in December. Count the mites that fall through the hive floor.

## Insulation

Wrap the hive in straw, and put insulation under the hive roof. Sugar fondant keeps the syrup feeder free.
"""

_HARVEST = """---
tags: [bees]
status: active
---
Take honey from the hive in July, when the combs are sealed. See [[Hives]] and [[Uncle Tom]].

## The extractor

Uncap the combs with a warm knife and spin them in the extractor; wet combs go back to the hive overnight.

## Jars

Honey from one hive fills forty jars. Let the honey settle, then skim it, and label each jar with the hive.

## Selling honey

A jar of comb honey sells for twice as much. [[Uncle Tom]] sells the honey of every hive at the market.
"""

_EVERYDAY = {
    "Cooking": (
        "Honey, flour, eggs and spice. Bake the cake slowly. The honey is from our own hive.",
        "Simmer red lentils with cumin until they are soft.",
        "Mix flour, water, salt and yeast, and let the dough rest.",
        "Cook plums with half of their weight in sugar, and fill the jars while hot.",
        "Roast the carrots, add broth, and simmer.",
        "Soak the beans overnight.",
        "Salt the cabbage, press it, and wait for six weeks.",
        "Rub butter into the flour, and keep all of it cold.",
    ),
    "Garden": (
        "Water tomatoes in the morning. Pinch out side shoots.",
        "Prune roses in March, above an outward bud.",
        "Turn the heap twice a year, and keep it moist.",
        "Thin out the reed before the frogs come.",
        "Sow peas as soon as the ground can be worked.",
        "Cover the strawberries with a net.",
        "Cut the hedge after midsummer.",
    ),
    "House": (
        "Three tiles are cracked on the north side.",
        "Sweep the flue before the first frost.",
        "Oil the posts every other year.",
        "File the form until the end of May.",
        "The pump must be bled once a year.",
        "The key of the cellar hangs behind the door.",
        "Paint the shutters green.",
    ),
}

_DIARY = {
    "Diary/2024-05-03.md": "The first swarm of the year! It left the hive at noon, and [[Ada Lovelace]] caught it.\n",
    "Diary/2024-05-11.md": "Looked through the hive with [[Ada Lovelace]]: no queen cells. The hive is calm.\n",
    "Diary/2024-07-20.md": "Took twelve combs from the hive. [[Uncle Tom]] lent us his extractor.\n",
    "Diary/2024-07-21.md": "Rain all day, read a book.\n",
    "Diary/2024-09-02.md": "Fed the last hive. [[Uncle Tom]] came by, and looked at the hive from afar.\n",
}

NOTES: Mapping[str, str] = {
    "Bees/Hives.md": _HIVES,
    "Bees/Swarms.md": _SWARMS,
    "Bees/Winter.md": _WINTER,
    "Bees/Harvest.md": _HARVEST,
    "Bees/Plants for bees.md": "---\ntags: [bees]\n---\nLime and clover, phacelia and borage. See [[Winter]].\n",
    "People/Ada Lovelace.md": "She keeps bees on the roof of the library, and taught us all that we know.\n",
    **{
        f"{folder}/{folder} {number}.md": f"---\ntags: [everyday]\n---\n{text}\n"
        for folder, texts in _EVERYDAY.items()
        for number, text in enumerate(texts, 1)
    },
    **_DIARY,
}
"""`[[Uncle Tom]]` is an unresolved link; `#everyday` is also on notes that have nothing to do with bees."""
