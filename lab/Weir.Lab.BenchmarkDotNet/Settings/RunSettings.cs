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

/// <summary>Numbers of workers as they are written.</summary>
internal static class WorkerCounts
{
    private const int Most = 100_000;

    public static int[] Checked(IReadOnlyCollection<int> counts) => counts.Count > 0 && counts.All(static n => n is >= 1 and <= Most)
        ? [.. counts.Distinct()]
        : throw new ArgumentException($"There must be at least one number of workers, from 1 to {Most}.", nameof(counts));

    /// <summary>Reads numbers that are separated by commas or spaces.</summary>
    public static bool TryParse(IEnumerable<string> texts, out int[] counts)
    {
        List<int> found = [];
        foreach (string text in texts.SelectMany(static t => t.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)))
        {
            if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int count) || count is < 1 or > Most)
            {
                counts = [];
                return false;
            }

            found.Add(count);
        }

        counts = [.. found.Distinct()];
        return counts.Length > 0;
    }
}

/// <summary>An attribute that asks for numbers of workers.</summary>
internal interface IWorkerCounts
{
    /// <summary>The numbers of workers.</summary>
    IReadOnlyList<int> Counts { get; }
}
