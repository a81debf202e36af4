namespace Weir.Lab.Suites;

/// <summary>A typical workload class of a user: with a parameter, set-up and a check of the result; and a benchmark of the same code.</summary>
[MemoryDiagnoser]
public class UsersLookupBenchmarks : IWorkload
{
    private readonly Dictionary<int, string> _data = [];
    private int _next;

    /// <summary>How many entries there are.</summary>
    [Params(1000)]
    public int Size { get; set; } = 10;

    /// <summary>Makes the entries.</summary>
    [GlobalSetup]
    public void Setup()
    {
        for (int i = 0; i < Size; i++)
        {
            _data[i] = $"value {i}";
        }
    }

    /// <summary>Looks one up, the next at each call.</summary>
    /// <returns>Its value.</returns>
    [Benchmark]
    public string Find()
    {
        _next = _next + 1 < Size ? _next + 1 : 0;
        return _data[_next];
    }

    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        Setup();
        return default;
    }

    public Operation CreateOperation(WorkerContext context) => Operation.Of(Find);

    public string? Check(RoundTotals round) => _data.Count == Size ? null : $"There are {_data.Count} entries.";
}
