namespace Weir.Cli.Commands.Hash;

/// <summary>The options of <c>hash</c>: their names, ranges and defaults, and how they go together.</summary>
internal sealed class HashOptionSet
{
    private const long Gibibyte = 1L << 30;
    private const int MostWorkers = 4096;

    private static readonly IReadOnlyDictionary<string, HashArm> ArmWords = OptionValue.WordsOf<HashArm>();

    private static readonly IReadOnlyDictionary<string, CacheMode> CacheWords = OptionValue.WordsOf<CacheMode>();

    private static readonly Dictionary<string, bool?> IsolateWords = new(StringComparer.OrdinalIgnoreCase)
    {
        ["auto"] = null,
        ["process"] = true,
        ["none"] = false,
    };

    private readonly TextOption _input = TextOption.Of("--input", null, "DIR", "The directory of the files. Missing files are created");
    private readonly TextOption _files = TextOption.Of("--files", null, "N", "How many files. Default 512");
    private readonly TextOption _size = TextOption.Of("--size", null, "SIZE", "The size of a file. Default 16MiB");
    private readonly TextOption _rounds = TextOption.Of("--rounds", null, "N", "Rounds of each arm; each hashes all files. Default 10");
    private readonly TextOption _workers = TextOption.Of("--workers", null, "N,N,...", "How many workers. Default 16");
    private readonly Option<bool> _async = new("--async") { Description = "Measure the asynchronous arm instead of the synchronous one" };
    private readonly TextOption _arms =
        TextOption.Of("--arms", null, "ARM,...", "sync, async, direct and foreach (the library's loop), measured in turns. Default sync");
    private readonly TextOption _cache =
        TextOption.Of("--cache", null, "STATE", "drop (cold page cache), warm, or direct (bypassing the page cache). Default drop");
    private readonly TextOption _buffer =
        TextOption.Of("--buffer", null, "SIZE", "Bytes per read. Default 4096, which is what MD5.HashData reads; 1MiB for direct reads");
    private readonly TextOption _inFlight = TextOption.Of("--inflight", null, "N", "The most files in progress at once. Default: the workers");
    private readonly TextOption _minThreads =
        TextOption.Of("--min-threads", null, "N", "Threads that the pool creates without waiting. Default: its own choice");
    private readonly TextOption _isolate = TextOption.Of("--isolate", null, "HOW",
        "process (a new one for each round), none (one for all rounds of an arm), or auto. Default auto: a process per round if there are several arms");

    public void AddTo(Command command) => command.AddAll(
        _input, _files, _size, _rounds, _workers, _arms, _cache, _buffer, _inFlight, _minThreads, _isolate, _async);

    public HashSettings Read(ParseResult parsed)
    {
        OptionValue? Find(TextOption option) => option.Find(parsed);

        if (Find(_input) is not { Text.Length: > 0 } input)
        {
            throw new BadInputException("--input must be the directory of the files, such as --input ./files; missing files are created in it.");
        }

        OptionValue? arms = Find(_arms);
        bool isAsync = parsed.GetValue(_async);
        if (arms is not null && isAsync)
        {
            throw new BadInputException("--async and --arms cannot be used together; write --arms async.");
        }

        HashArm[] chosen = arms is not null ? Arms(arms) : [isAsync ? HashArm.Async : HashArm.Sync];
        CacheMode cache = Find(_cache)?.OneOf(CacheWords) ?? CacheMode.Drop;
        if (!PageCache.IsControllable && (cache != CacheMode.Warm || chosen.Contains(HashArm.Direct)))
        {
            throw new BadInputException("--cache must be warm on this system; only on Linux can the page cache be dropped or bypassed without privileges.");
        }

        bool direct = cache == CacheMode.Direct || chosen.Contains(HashArm.Direct);
        OptionValue? buffer = Find(_buffer);
        long? bytes = buffer?.Bytes(1, Gibibyte);
        if (direct && bytes % AlignedBuffer.Alignment is > 0)
        {
            throw buffer!.Bad("a multiple of 4,096 bytes for reads that bypass the page cache");
        }

        IReadOnlyList<int> workers = Find(_workers)?.WholeNumbers(1, MostWorkers) ?? [16];
        return new HashSettings
        {
            Input = input.Text,
            Order = new HashOrder
            {
                Directory = Path.GetFullPath(input.Text),
                Files = Find(_files)?.WholeNumber(1, 100_000) ?? 512,
                FileSize = Find(_size)?.Bytes(1, 64 * Gibibyte) ?? 16L << 20,
                Cache = cache,
                InFlight = Find(_inFlight)?.WholeNumber(1, MostWorkers),
                MinThreads = Find(_minThreads)?.WholeNumber(1, short.MaxValue),
            },
            Workers = workers,
            Arms = chosen,
            Rounds = Find(_rounds)?.WholeNumber(1, 10_000) ?? 10,
            Buffer = (int?)bytes,
            Isolate = Find(_isolate)?.OneOf(IsolateWords) ?? workers.Count * chosen.Length > 1,
        };
    }

    private static HashArm[] Arms(OptionValue given)
    {
        string[] words = given.Text.Split(',', StringSplitOptions.TrimEntries);
        return words.Distinct(StringComparer.OrdinalIgnoreCase).Count() == words.Length && words.All(ArmWords.ContainsKey)
            ? [.. words.Select(static w => ArmWords[w])]
            : throw given.Bad("different arms among sync, async, direct and foreach, separated by commas");
    }
}
