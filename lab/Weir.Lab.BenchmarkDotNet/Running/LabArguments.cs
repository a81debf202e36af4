using Weir.Lab.Benchmarks.Net10;
using Weir.Lab.Benchmarks.Settings;

namespace Weir.Lab.Benchmarks.Running;

/// <summary>The arguments that BenchmarkDotNet does not know, taken out of those it gets.</summary>
/// <param name="Remaining">What BenchmarkDotNet gets.</param>
/// <param name="Workers">The numbers of workers; <see langword="null"/> when they were not given.</param>
/// <param name="StandIn">What BenchmarkDotNet gets for <c>net10.0</c>; <see langword="null"/> when that was not given.</param>
internal sealed record LabArguments(string[] Remaining, int[]? Workers, string? StandIn)
{
    private const string WorkersOption = "--workers";
    private static readonly string[] RuntimeOptions = ["--runtimes", "-r"];
    private static readonly string[] Known = ["net9.0", "net8.0", "net7.0", "net6.0", "net5.0", "netcoreapp3.1"];

    public static LabArguments Parse(string[] args)
    {
        List<string> remaining = [];
        List<string> workers = [];
        bool isWorkers = false;
        bool isRuntimes = false;
        string? standIn = null;
        foreach (string arg in args)
        {
            if (arg == WorkersOption)
            {
                isWorkers = true;
                workers.Add("");
                continue;
            }

            if (arg.StartsWith('-'))
            {
                isWorkers = false;
                isRuntimes = RuntimeOptions.Contains(arg, StringComparer.OrdinalIgnoreCase);
            }

            if (isWorkers)
            {
                workers.Add(arg);
            }
            else if (isRuntimes && string.Equals(arg, Net10Toolchain.Moniker, StringComparison.OrdinalIgnoreCase))
            {
                remaining.Add(standIn ??= Known.First(k => !args.Contains(k, StringComparer.OrdinalIgnoreCase)));
            }
            else
            {
                remaining.Add(arg);
            }
        }

        int[]? counts = null;
        if (workers.Count > 0 && !WorkerCounts.TryParse(workers, out counts))
        {
            throw new ArgumentException($"{WorkersOption} takes numbers from 1 to 100000 with commas between them, such as 1,2,8.");
        }

        return new LabArguments([.. remaining], counts, standIn);
    }
}
