using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Runtimes;

/// <summary>How the outcomes of a call are received.</summary>
public enum RunForm
{
    /// <summary>All at once, as an array.</summary>
    Array,

    /// <summary>As a stream, in the order in which items end.</summary>
    Stream,

    /// <summary>As a stream, in input order.</summary>
    OrderedStream,
}

/// <summary>The runtimes and forms that the contract is tested over.</summary>
public static class RuntimeCases
{
    /// <summary>Runtimes whose processors may block their thread without blocking the caller.</summary>
    private static readonly string[] Detached =
        ["concurrent 1", "concurrent 3", "concurrent 100", "parallel 1", "parallel 2", "parallel 4", "auto 1", "auto 3", "auto 100"];

    public static IReadOnlyList<string> All { get; } = ["direct", .. Detached];

    private static readonly (string Runtime, RunForm Form)[] Forms =
    [
        ("direct", RunForm.Array), ("concurrent 3", RunForm.Array), ("parallel 2", RunForm.Array),
        ("direct", RunForm.Stream), ("auto 3", RunForm.Stream), ("parallel 4", RunForm.Stream),
        ("direct", RunForm.OrderedStream), ("concurrent 100", RunForm.OrderedStream), ("parallel 1", RunForm.OrderedStream),
    ];

    public static TheoryData<string> Every() => [.. All];

    /// <summary>
    /// Three ways to run items, each with the three forms: on the caller's thread, as tasks of the pool, and on threads of its own. The four runtimes are one
    /// class, so a runtime with another limit stands for each form; <see cref="Every"/> has all of them.
    /// </summary>
    public static TheoryData<string, RunForm> EveryForm() => new(Forms);

    public static TheoryData<string, RunForm> DetachedForm() => new(Forms.Where(static row => row.Runtime != "direct"));

    public static IExecutionRuntime Create(string name, RuntimeOptions? options = null)
    {
        string[] parts = name.Split(' ');
        return parts[0] switch
        {
            "direct" => new DirectRuntime(options),
            "concurrent" => new ConcurrentRuntime(Number(parts[1]), options),
            "parallel" => new ParallelRuntime(Number(parts[1]), options),
            "auto" => new AutoRuntime(Number(parts[1]), options: options),
            _ => throw new ArgumentOutOfRangeException(nameof(name), name, null),
        };
    }

    public static IExecutionRuntime Create(string name, ManualTimeProvider clock, TimeSpan? grace = null) =>
        Create(name, new RuntimeOptions { TimeProvider = clock, GracePeriod = grace ?? TimeSpan.FromSeconds(30) });

    /// <summary>How many items of a call the runtime has in flight at most.</summary>
    public static int LimitOf(string name) => name == "direct" ? 1 : Number(name.Split(' ')[1]);

    private static int Number(string text) => int.Parse(text, System.Globalization.CultureInfo.InvariantCulture);
}
