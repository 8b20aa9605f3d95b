"""The environment for TRL's `GRPOTrainer`: tools as methods, rewards as batch functions.

TRL makes a model's tool of every public function of an environment's class, so a `gymnasium.Env` must never be handed to it.
`WildTools` is the small class it may have::

    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer
    from wildenv import make_env
    from wildenv.adapters.trl import environments, reward_functions
    from wildenv.registration import make_reward, make_tasks

    reward = make_reward({"components": ["generation", "sufficiency"], "alpha": 0.5, "generator": "compositor"}, "miniweb:train")
    rewards = reward_functions(reward)
    trainer = GRPOTrainer(
        environment_factory=environments(lambda: make_env(reward=None)),
        reward_funcs=[one.function for one in rewards],
        args=GRPOConfig(reward_weights=[one.weight for one in rewards], max_tool_calling_iterations=9, ...),
        train_dataset=Dataset.from_list(
            [{"prompt": [{"role": "user", "content": ""}], "task_id": task.id} for task in make_tasks("miniweb:train")]
        ),
    )

TRL knows neither the processor nor the chat template of the nano model: open its checkpoints with `agents.checkpoint`, and give
their tokenizer `trainers.rl.response.let_read`.

Imports neither TRL nor torch. TRL 1.16's own loop steps one rollout after the other; `trainers.grpo` steps all of them at once.
"""

from wildenv.adapters.trl.environment import WildTools, environments, session_of
from wildenv.adapters.trl.rewards import RewardFunction, reward_functions
from wildenv.adapters.trl.session import Session

__all__ = ["RewardFunction", "Session", "WildTools", "environments", "reward_functions", "session_of"]
