using BenchmarkDotNet.Order;

namespace Weir.Lab.Benchmarks.Settings;

/// <summary>The settings for all benchmarks of a run. They take precedence over attributes.</summary>
/// <param name="Workers">Numbers of workers; <see langword="null"/> for those of the attributes.</param>
/// <param name="Inner">Puts the cases in order; <see langword="null"/> for BenchmarkDotNet's own order.</param>
/// <param name="Stop">Asks the run to stop after the benchmark that is measured.</param>
internal sealed record RunSettings(IReadOnlyList<int>? Workers, IOrderer? Inner, CancellationToken Stop = default)
{
    public static readonly RunSettings None = new(null, null);

    // BenchmarkDotNet applies the configurations of attributes after that of the caller, so nothing else would override them.
    private static volatile RunSettings Now = None;

    /// <summary>What holds now. Runs in one process follow one another: BenchmarkDotNet allows no others.</summary>
    public static RunSettings Current => Now;

    /// <summary>Runs something with settings.</summary>
    public static T Use<T>(RunSettings settings, Func<T> run)
    {
        RunSettings before = Now;
        Now = settings;
        try
        {
            return run();
        }
        finally
        {
            Now = before;
        }
    }
}
