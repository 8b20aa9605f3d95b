"""Gen-Searcher's files (tulerfeng/Gen-Searcher at e5078d3): results of its agent, input of its judge, tasks of its kin.

``results.json`` (its stage A) is a JSON array of rows with ``id, prompt, meta, termination, trajectory_messages, gen_prompt,
reference_images, gt_image``; its stage C, the KnowGen judge, reads ``id, prompt, gt_image, output_path, success, meta.category``.
Paths are relative to the file.
"""

from wildenv.adapters.gen_searcher.export import Exported, export_results
from wildenv.adapters.gen_searcher.results import Imported, import_results, read_row
from wildenv.adapters.gen_searcher.tasks import ImportedTasks, import_tasks

__all__ = ["Exported", "Imported", "ImportedTasks", "export_results", "import_results", "import_tasks", "read_row"]
