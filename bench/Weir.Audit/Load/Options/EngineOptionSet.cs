using Weir.Delivery.Cli.Engines;

namespace Weir.Audit.Load.Options;

/// <summary>The options of <c>load</c>: their names, ranges and defaults, and how they go together.</summary>
internal sealed class EngineOptionSet
{
    private const string Flag = "--engine";
    private const int LargestPass = 100_000_000;
    private const int MostConcurrency = 1_000_000;
    private const int MostItems = 10_000;
    private const int MostConsumers = 64;
    private const int MostKeys = 1_000_000;
    private const int MostInFlight = 10_000_000;
    private const double MostRate = 10_000_000;

    private static readonly string Names = string.Join(", ", WorkEngines.All.Select(static e => e.Name));

    private readonly TextOption _engine = TextOption.Of(
        Flag, null, "NAME,...", $"Which queues: {Names}, or several of them. Default {MemoryEngine.Engine.Name}");
    private readonly TextOption _connection = TextOption.Of(
        "--connection",
        null,
        "ADDRESS",
        $"Where the server is, for one engine. Default: {string.Join(", ", WorkEngines.All.Where(static e => e.Variable is not null)
            .Select(static e => $"{e.Variable} for {e.Name}"))}; use the variable for an address with a password");
    private readonly TextOption _items = TextOption.Of(
        "--items-per-message", null, "N,N,...", "How many items travel together: a queue for each of the numbers. Default 1,16,256");
    private readonly TextOption _consumers = TextOption.Of("--consumers", null, "N", "Consumers of each queue. Default 2");
    private readonly TextOption _publishers = TextOption.Of("--publishers", null, "N", "Publishers of each queue. Default 2");
    private readonly TextOption _rate = TextOption.Of(
        "--rate", null, "N/s", "Items a second, published at their time whatever becomes of others. Default: the next is published when others are done");
    private readonly TextOption _inFlight = TextOption.Of(
        "--in-flight", null, "N", "Without --rate: the most items that are published and not done. Default 4,096, or 16 messages if that is more");
    private readonly TextOption _keys = TextOption.Of("--keys", null, "N", "How many keys the items have. Default 64");
    private readonly TextOption _patience = TextOption.Of(
        "--patience", null, "TIME", "How long nothing may be acknowledged until what is missing counts as lost. Default 10s");
    private readonly Option<bool> _ordered = new("--ordered") { Description = "Items with the same key are processed in order" };

    private readonly TextOption _count = TextOption.Of("--count", "COUNT", "N", "Items per pass. Default: about 1,000 messages");
    private readonly TextOption _concurrency = TextOption.Of("--concurrency", "CDC_CONCURRENCY", "N", "Items at once in each consumer. Default 100");
    private readonly TextOption _warmup = TextOption.Of("--warmup", "WARMUP", "N", "Items of a warm-up pass. Default: 100 messages");
    private readonly TextOption _trials = TextOption.Of("--trials", null, "N", "How many windows of at least a second to measure for each queue. Default 5");
    private readonly TextOption _json = TextOption.Of("--json", "JSON", "BOOL", "Print JSON and nothing else");

    // As a switch, it needs no value.
    public EngineOptionSet() => _json.Arity = ArgumentArity.ZeroOrOne;

    public void AddTo(Command command) => command.AddAll(
        _engine, _connection, _items, _consumers, _publishers, _rate, _inFlight, _keys, _ordered, _patience, _count, _concurrency, _warmup, _trials, _json);

    /// <summary>Reads and checks all of them.</summary>
    public EngineSettings Read(ParseResult parsed, Func<string, string?> variables)
    {
        OptionValue? Find(TextOption option) => option.Find(parsed, variables);

        WorkEngine[] engines = Find(_engine) is { } named ? Engines(named) : [MemoryEngine.Engine];
        int consumers = Find(_consumers)?.WholeNumber(1, MostConsumers) ?? 2;
        bool isOrdered = parsed.GetValue(_ordered);
        if (isOrdered && consumers > 1 && engines.Contains(MemoryEngine.Engine))
        {
            throw new BadInputException($"--ordered with {Flag} memory needs --consumers 1: the queue in memory keeps no order between consumers.");
        }

        double? rate = Find(_rate)?.PerSecond(1, MostRate, "items");
        if (rate is not null && Find(_inFlight) is not null)
        {
            throw new BadInputException("--in-flight cannot be used with --rate, which publishes at its times however much is in flight.");
        }

        return new EngineSettings
        {
            Engines = [.. Addressed(engines, Find(_connection), variables)],
            ItemsPerMessage = Find(_items)?.WholeNumbers(1, MostItems) ?? [1, 16, 256],
            Consumers = consumers,
            Publishers = Find(_publishers)?.WholeNumber(1, MostConsumers) ?? 2,
            Keys = Find(_keys)?.WholeNumber(1, MostKeys) ?? 64,
            IsOrdered = isOrdered,
            Rate = rate,
            InFlight = Find(_inFlight)?.WholeNumber(1, MostInFlight),
            Patience = Find(_patience)?.Time(TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1), "10s") ?? TimeSpan.FromSeconds(10),
            Concurrency = Find(_concurrency)?.WholeNumber(1, MostConcurrency) ?? 100,
            Count = Find(_count)?.WholeNumber(1, LargestPass),
            Warmup = Find(_warmup)?.WholeNumber(0, LargestPass),
            Trials = Find(_trials)?.WholeNumber(1, 1000) ?? 5,
            Json = Find(_json)?.FlagOrSwitch() ?? false,
        };
    }

    private static WorkEngine[] Engines(OptionValue named)
    {
        Dictionary<string, WorkEngine> words = WorkEngines.All.ToDictionary(static e => e.Name, StringComparer.OrdinalIgnoreCase);
        WorkEngine[] engines = [.. named.Text.Split(',').Select(name => new OptionValue(named.Source, name.Trim()).OneOf(words))];
        return engines.Distinct().Count() == engines.Length ? engines : throw named.Bad("different engines separated by commas");
    }

    private static IEnumerable<(WorkEngine Engine, OptionValue Address)> Addressed(
        WorkEngine[] engines, OptionValue? connection, Func<string, string?> variables)
    {
        if (connection is not null && engines.Count(static e => e.Variable is not null) != 1)
        {
            throw new BadInputException(
                $"{connection.Source} is the address of one server, so {Flag} must name exactly one engine that has one; use the variables for several.");
        }

        foreach (WorkEngine engine in engines)
        {
            OptionValue address = engine.Variable is not { } variable ? new OptionValue(Flag, engine.Form)
                : connection ?? (variables(variable) is { Length: > 0 } text ? new OptionValue(variable, text) : throw new BadInputException(
                    $"--connection or {variable} must say where the server of {Flag} {engine.Name} is: 'eng/services up {engine.Name}' starts one."));
            yield return engine.Recognizes(address.Text) ? (engine, address) : throw new BadInputException(
                $"{address.Source} must be an address such as {engine.Form}; it is something else, which is not shown because it may have a password.");
        }
    }
}
