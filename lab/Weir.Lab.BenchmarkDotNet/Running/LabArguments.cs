namespace Weir.Lab.Benchmarks.Running;

/// <summary>The arguments that BenchmarkDotNet does not know, taken out of those it gets.</summary>
/// <param name="Remaining">What BenchmarkDotNet gets.</param>
/// <param name="Workers">The numbers of workers; <see langword="null"/> when they were not given.</param>
internal sealed record LabArguments(string[] Remaining, int[]? Workers)
{
    private const string WorkersOption = "--workers";

    public static LabArguments Parse(string[] args)
    {
        List<string> remaining = [];
        List<string> workers = [];
        bool isWorkers = false;
        foreach (string arg in args)
        {
            if (arg == WorkersOption)
            {
                isWorkers = true;
                workers.Add("");
                continue;
            }

            isWorkers &= !arg.StartsWith('-');
            (isWorkers ? workers : remaining).Add(arg);
        }

        int[]? counts = null;
        if (workers.Count > 0 && !WorkerCounts.TryParse(workers, out counts))
        {
            throw new ArgumentException($"{WorkersOption} takes numbers from 1 to 100000 with commas between them, such as 1,2,8.");
        }

        return new LabArguments([.. remaining], counts);
    }
}
