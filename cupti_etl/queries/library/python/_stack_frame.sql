-- Frames of Python stacks, and which of them is the program's own.
--
-- computed: A frame is of an installed package, and not the program's own, where its file lies in
--   site-packages, dist-packages or Python's own library, or is of Python's frozen modules.
--   torch.profiler leaves these folders out: of its files, common packages and modules of Python's
--   library are known by their names. The place of a line is its file's name and its number; with
--   the folder, where several files have that name.
-- scope: whole
-- columns:
--   _python_frame.*
--   place VARCHAR: The file's name and the line.
--   is_own BOOLEAN: Whether it is the program's own and no installed package's.
--   is_innermost_own BOOLEAN: Whether it is the innermost of these; of all, where there is none.
WITH frames AS (
    SELECT *, regexp_extract(file, '[^/]*$') AS name,
           NOT regexp_matches(file, '/(site|dist)-packages/|/lib/python3\.\d+t?/')
               AND NOT regexp_matches(file, '^<(frozen |string>)')
               AND NOT (line IS NULL AND regexp_matches(
                   file, '^(torch(ao|audio|data|metrics|rec|vision)?|triton|transformers|accelerate'
                   '|datasets|deepspeed|diffusers|peft|apex|flash_attn|lightning(_fabric)?'
                   '|pytorch_lightning|numpy|tqdm|asyncio|collections|concurrent|ctypes|importlib'
                   '|json|logging|multiprocessing)/'
               ))
               AND NOT (line IS NULL AND regexp_matches(
                   file, '^(_collections_abc|_weakrefset|abc|argparse|bdb|codecs|contextlib|copy'
                   '|copyreg|dataclasses|enum|functools|glob|heapq|inspect|io|linecache|operator'
                   '|os|pathlib|pickle|posixpath|queue|random|re|runpy|selectors|shutil|signal'
                   '|socket|string|subprocess|tempfile|textwrap|threading|traceback|types|typing'
                   '|uuid|warnings|weakref)\.py$'
               ))
               AS is_own
    FROM _python_frame
),
files AS (
    SELECT name, count(DISTINCT file) > 1 AS is_shared FROM frames GROUP BY name
)
SELECT process_id, stack_id, depth, function, file, line, first_line,
       CASE WHEN is_shared THEN regexp_extract(file, '[^/]*/?[^/]*$') ELSE frames.name END
           || ':' || coalesce(line::VARCHAR, '?') AS place,
       is_own,
       depth = coalesce(min(depth) FILTER (WHERE is_own) OVER stack, 0) AS is_innermost_own
FROM frames
JOIN files ON files.name = frames.name
WINDOW stack AS (PARTITION BY process_id, stack_id)
