using System.Collections;
using Weir.Lab.Processes;

namespace Weir.Lab.Resources;

/// <summary>Reads what a figure is measured on. Figures of different machines or settings are not comparable.</summary>
internal static class MachineInfo
{
    // The variables that change what is measured; others of the family only concern the command-line tools.
    private static readonly string[] Prefixes =
    [
        "DOTNET_gc", "DOTNET_Tiered", "DOTNET_TC_", "DOTNET_ThreadPool", "DOTNET_ReadyToRun", "DOTNET_PROCESSOR_COUNT", "DOTNET_Enable", "DOTNET_Jit",
    ];

    private const string QuotaFile = "/sys/fs/cgroup/cpu.max";

    /// <summary>How many processors the control group of the process may use; <see langword="null"/> when it is not limited, or has none.</summary>
    public static double? CpuQuota() => QuotaOf(File.Exists(QuotaFile) ? File.ReadAllText(QuotaFile) : null);

    /// <summary>The set environment variables that change how .NET runs code, by name.</summary>
    public static SortedDictionary<string, string> Variables() => Relevant(Environment.GetEnvironmentVariables());

    /// <summary>The mode of the garbage collector, such as <c>workstation, concurrent</c>.</summary>
    /// <remarks>Under the server's collector the number of heaps may change while it runs, which changes what is measured.</remarks>
    public static string GcMode()
    {
        string mode = (GCSettings.IsServerGC ? "server" : "workstation") + (GCSettings.LatencyMode == GCLatencyMode.Batch ? "" : ", concurrent");
        return GCSettings.IsServerGC && GC.GetConfigurationVariables().TryGetValue("GCDynamicAdaptationMode", out object? adapts)
            ? $"{mode}, adaptive {adapts}"
            : mode;
    }

    /// <summary>The name of the processor.</summary>
    public static string CpuName()
    {
        const string info = "/proc/cpuinfo";
        if (File.Exists(info))
        {
            foreach (string line in File.ReadLines(info))
            {
                int colon = line.IndexOf(':', StringComparison.Ordinal);
                if (colon > 0 && line.AsSpan(0, colon).Trim() is "model name")
                {
                    return line[(colon + 1)..].Trim();
                }
            }
        }

        return Environment.GetEnvironmentVariable("PROCESSOR_IDENTIFIER") ?? $"unknown ({RuntimeInformation.ProcessArchitecture})";
    }

    /// <summary>Of the line <c>quota period</c> the quotient; none for <c>max period</c>.</summary>
    internal static double? QuotaOf(string? line) =>
        line?.Split(' ', StringSplitOptions.TrimEntries) is [var quota, var period]
        && double.TryParse(quota, CultureInfo.InvariantCulture, out double allowed)
        && double.TryParse(period, CultureInfo.InvariantCulture, out double of) && of > 0
            ? allowed / of
            : null;

    internal static SortedDictionary<string, string> Relevant(IDictionary variables)
    {
        SortedDictionary<string, string> relevant = new(StringComparer.Ordinal);
        foreach (DictionaryEntry variable in variables)
        {
            if (variable is { Key: string name, Value: string value }
                && Prefixes.Any(prefix => name.StartsWith(prefix, StringComparison.OrdinalIgnoreCase)))
            {
                relevant[name] = value;
            }
        }

        return relevant;
    }
}

/// <summary>Prevents two measurements from running on one machine at once, where they would disturb each other.</summary>
internal sealed class MachineLock : IDisposable
{
    private readonly FileStream _file;

    private MachineLock(FileStream file) => _file = file;

    /// <summary>Where the lock is by default: the same file for all processes of the machine that share a temporary folder.</summary>
    public static string DefaultPath { get; } = Path.Combine(Path.GetTempPath(), "weir-lab.lock");

    /// <summary>Takes the lock if it is free. A process that ends in any way releases it.</summary>
    /// <param name="path">The file; <see langword="null"/> for <see cref="DefaultPath"/>.</param>
    /// <returns>The lock; <see langword="null"/> when another process or another caller has it, or the file cannot be written.</returns>
    public static MachineLock? TryTake(string? path = null)
    {
        try
        {
            return new MachineLock(new FileStream(path ?? DefaultPath, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None));
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Releases the lock.</summary>
    public void Dispose() => _file.Dispose();
}

/// <summary>The state of the sources that were measured, from git, for which it waits as long as git takes.</summary>
/// <param name="Commit">The commit.</param>
/// <param name="IsClean">Whether no file that git tracks was changed since.</param>
internal sealed record SourceTree(string Commit, bool IsClean)
{
    /// <summary>Reads the tree that a directory lies in.</summary>
    /// <param name="directory">The directory; <see langword="null"/> for the current one.</param>
    /// <param name="paths">Where changes count, as git writes paths; everywhere when there is none.</param>
    /// <returns>Its state; <see langword="null"/> where there is no git, no repository or no commit.</returns>
    public static SourceTree? Read(string? directory = null, params IReadOnlyList<string> paths) =>
        ReadBy(new GitCalls { Directory = directory }, paths);

    /// <summary>Reads the tree by calls of git that say where they wait, and can be stopped.</summary>
    internal static SourceTree? ReadBy(GitCalls git, params IReadOnlyList<string> paths)
    {
        string? commit = git.Run("rev-parse", "HEAD");
        string? changes = commit is null
            ? null
            : git.Run(["status", "--porcelain", "--untracked-files=no", .. paths.Count > 0 ? ["--", .. paths] : Array.Empty<string>()]);
        return commit is { Length: > 0 } && changes is not null ? new SourceTree(commit, changes.Length == 0) : null;
    }

    /// <summary>The order of commits: each after those that it follows.</summary>
    /// <param name="commits">Some commits; those that the repository does not have are left out.</param>
    /// <param name="directory">A directory in the repository; <see langword="null"/> for the current one.</param>
    /// <returns>These and all that they follow, the oldest first; <see langword="null"/> where there is no git or no repository.</returns>
    public static IReadOnlyList<string>? Order(IReadOnlyCollection<string> commits, string? directory = null) => commits.Count == 0
        ? []
        : new GitCalls { Directory = directory }.Run(["rev-list", "--ignore-missing", "--topo-order", "--reverse", .. commits, "--"])?.Split(
            '\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
}

/// <summary>Calls of git that only look.</summary>
internal sealed class GitCalls
{
    /// <summary>Where; <see langword="null"/> for the current directory.</summary>
    public string? Directory { get; init; }

    /// <summary>Is told that git is waited for.</summary>
    public Action<string> Say { get; init; } = static line => Console.Error.WriteLine($"weir: {line}");

    /// <summary>After what time it is told.</summary>
    public TimeSpan Patience { get; init; } = LongWait.Patience;

    /// <summary>The program.</summary>
    public string Program { get; init; } = "git";

    /// <summary>Ends the call that is under way.</summary>
    public CancellationToken Stop { get; init; }

    /// <summary>Makes a call, and waits for its answer.</summary>
    /// <param name="arguments">What to ask.</param>
    /// <returns>The answer; <see langword="null"/> when there is no git, or none that can tell.</returns>
    /// <exception cref="OperationCanceledException">It was stopped.</exception>
    public string? Run(params string[] arguments)
    {
        ProcessStartInfo info = new(Program, arguments) { WorkingDirectory = Directory ?? "" };

        // To look must not write: another git may be at work.
        info.Environment["GIT_OPTIONAL_LOCKS"] = "0";
        Task<ChildEnd> call = ChildProgram.RunAsync(info, Stop);
        LongWait.For(call, $"git {arguments[0]}", Say, Patience);

        // At a terminal, Ctrl-C ends git too, maybe before this process has heard of it.
        Stop.ThrowIfCancellationRequested();
        return call is { IsCompletedSuccessfully: true, Result: { Code: 0 } end } ? end.Output.Trim() : null;
    }
}

/// <summary>The resolution of the platform's timers. A shorter delay takes as long as the resolution.</summary>
internal static class TimerTick
{
    /// <summary>Measures what a delay of 1 ms really takes.</summary>
    /// <param name="delays">How many delays, one after the other. At least 1.</param>
    /// <param name="cancellationToken">Cancels the delays.</param>
    public static async Task<TimeSpan> MeasureAsync(int delays = 15, CancellationToken cancellationToken = default)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(delays, 1);
        TimeSpan[] lengths = new TimeSpan[delays];
        for (int i = 0; i < delays; i++)
        {
            long start = Stopwatch.GetTimestamp();
            await Task.Delay(1, cancellationToken).ConfigureAwait(false);
            lengths[i] = Stopwatch.GetElapsedTime(start);
        }

        Array.Sort(lengths);
        return lengths[delays / 2];
    }
}
