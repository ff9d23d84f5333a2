"""A small vault of a gardener who sails and cooks.

Some notes are related, with or without links, and some are not.
"""

from __future__ import annotations

from collections.abc import Mapping

NOTES: Mapping[str, str] = {
    "Garden/Tomatoes.md": """---
tags: [garden, summer]
---
# Tomatoes

Tomatoes are watered in the morning, never on the leaves, or blight comes. Pinch out side shoots every week.

## Blight

Late blight turns the leaves of tomatoes brown within days. Bordeaux mixture holds it up; a roof against rain helps
more. See [[Rain barrel]].

## Harvest

Ripe tomatoes come off with a twist. Green ones ripen in a drawer beside an apple.
""",
    "Garden/Potatoes.md": """---
tags: [garden]
---
# Potatoes

Earth the plants up twice. Potatoes are dug when the leaves have died back.

## Diseases

Late blight turns the leaves of potatoes brown as well, and Bordeaux mixture holds it up. It goes over to the Tomatoes
next to them.
""",
    "Garden/Rain barrel.md": """# Rain barrel

A rain barrel under the gutter holds two hundred litres. Its water is soft, and warm enough for [[Basil]].
""",
    "Garden/Basil.md": """---
aliases: [Sweet basil]
---
# Basil

Sow basil on the window sill in April. It wants water from the [[Rain barrel]] and no frost.
""",
    "Garden/Index.md": "# Index\n\n- [[Tomatoes]]\n- [[Potatoes]]\n- [[Basil]]\n- [[Rain barrel]]\n- [[Gazpacho]]\n",
    "Kitchen/Gazpacho.md": """# Gazpacho

Blend ripe peppers with cucumber, garlic and bread, and chill. Season with salt.
""",
    "Kitchen/Pesto.md": """# Pesto

Pound garlic, pine nuts and sweet basil in a mortar, and add oil. `Tomatoes` have no place in it.
""",
    "Boat/Rigging.md": """---
tags: [boat]
---
# Rigging

The forestay and both shrouds are of steel wire. Check every turnbuckle for cracks before the season begins.
""",
    "Boat/Sails.md": """---
tags: [boat]
---
# Sails

A mainsail is reefed in a fresh breeze. Check the seams before the season begins, and the shrouds for what chafes.
""",
    "Boat/Night Watch.md": "# Night Watch\n\nFour hours on, four hours off, and tea in between.\n",
    "Boat/Log.md": "# Log\n\nThe night watch saw three ships. Reefed at four.\n",
    "Empty.md": "",
}
