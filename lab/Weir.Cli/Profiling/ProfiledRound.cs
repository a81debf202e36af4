using System.Diagnostics.Tracing;
using Microsoft.Diagnostics.NETCore.Client;
using Weir.Lab.Processes;

namespace Weir.Cli.Profiling;

/// <summary>One more round of a measuring process, in which the runtime records the stacks of its threads and their allocations.</summary>
/// <remarks><see cref="Findings"/> reports any failure of this round. The rounds before it are not lost.</remarks>
internal sealed class ProfiledRound : IDisposable
{
    // A sample each millisecond: a thousand make a picture.
    private static readonly TimeSpan Least = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LeastOfAwaits = TimeSpan.FromMilliseconds(300);

    // The variables that disable the runtime's diagnostics, in both spellings.
    private static readonly string[] Switches =
        ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC", "COMPlus_EnableDiagnostics", "COMPlus_EnableDiagnostics_IPC"];

    // By how much the profiled round may be slower before it is said.
    private const double MostSlower = 0.05;

    // A few tenths of a second of code that does nothing but await.
    private const int MostBytesOfAwaits = 32 << 20;

    private static readonly EventPipeProvider[] Sampling =
    [
        new("Microsoft-DotNETCore-SampleProfiler", EventLevel.Informational),

        // Collections (with allocations at this level), the names of methods (loader, compiler and code that was compiled before), and the pool's threads.
        new("Microsoft-Windows-DotNETRuntime", EventLevel.Verbose, 0x1 | 0x8 | 0x10 | 0x20 | 0x10000),
    ];

    // In a window of their own, because they slow down what awaits all the time. With the names of some tasks.
    private static readonly EventPipeProvider[] Awaiting = [new("System.Threading.Tasks.TplEventSource", EventLevel.Verbose, 0x2 | 0x8)];

    private readonly string _folder = Directory.CreateTempSubdirectory("weir-profile-").FullName;
    private readonly List<Finding> _findings = [];
    private (Recorded Round, ThreadTimes Times)? _done;
    private Recorded? _awaited;

    private string SamplesPath => Path.Combine(_folder, "samples.nettrace");

    private string AwaitsPath => Path.Combine(_folder, "awaits.nettrace");

    /// <summary>
    /// Environment variables of a process that will be profiled. Code that ends with a call keeps its place on the stack: without them, the compiler replaces
    /// the frame of <c>void Nap() => Thread.Sleep(5)</c> by that of the sleep, and nothing tells any more who sleeps.
    /// </summary>
    public static IReadOnlyDictionary<string, string> Variables { get; } = new Dictionary<string, string> { ["DOTNET_TailCallOpt"] = "0" };

    /// <summary>Why there is no profile, or the problem with it.</summary>
    public IReadOnlyList<Finding> Findings => _findings;

    /// <summary>The variable that forbids profiling in processes that this one starts; <see langword="null"/> when none does.</summary>
    public static string? ForbiddenBy(Func<string, string?> variables) => Array.Find(Switches, s => variables(s)?.Trim() is "0");

    /// <summary>Makes the round.</summary>
    /// <param name="window">Runs it.</param>
    /// <param name="stop">Ends it. Then there is no profile.</param>
    public async Task RunAsync(ExtraWindow window, CancellationToken stop)
    {
        try
        {
            using ThreadTimes times = new();
            if (await RecordAsync(window, Sampling, Least, SamplesPath, long.MaxValue, stop) is not { } sampled)
            {
                return;
            }

            times.Dispose();
            _done = (sampled, times);
            _awaited = await RecordAsync(window, Awaiting, LeastOfAwaits, AwaitsPath, MostBytesOfAwaits, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // The rounds are reported as they are.
        }
        catch (Exception e)
        {
            AddFinding(e.Message);
        }
    }

    private static async Task EndAsync(EventPipeSession session, Thread copying, CancellationToken stop)
    {
        await session.StopAsync(stop);
        await Task.Run(copying.Join, CancellationToken.None).WaitAsync(stop);
    }

    // One window with the events of some providers; null if there are none.
    private async Task<Recorded?> RecordAsync(
        ExtraWindow window, EventPipeProvider[] providers, TimeSpan least, string path, long most, CancellationToken stop)
    {
        using EventPipeSession session = await new DiagnosticsClient(Environment.ProcessId).StartEventPipeSessionAsync(
            providers, requestRundown: true, circularBufferMB: 256, stop);

        // On a thread of its own, which its frames tell from the measured code.
        Thread copying = new(() => Copy(session, path, most))
        {
            IsBackground = true,
            Name = "profile",
        };
        copying.Start();
        DateTime begin = DateTime.UtcNow;
        (double seconds, double rate, IReadOnlyList<string> troubles) = await window(least);
        DateTime end = DateTime.UtcNow;
        if (stop.IsCancellationRequested)
        {
            return null;
        }

        // The names of the methods come now.
        Task ended = EndAsync(session, copying, stop);
        await LongWait.ForAsync(ended, "the runtime to write down the names of the methods", Console.Error.WriteLine);

        _findings.AddRange(troubles.Select(static t => new Finding(FindingLevel.Note, $"In the profiled round: {t}")));
        return new Recorded((begin, end), seconds, rate);
    }

    /// <summary>What it found; <see langword="null"/> when it could not be made.</summary>
    /// <param name="rates">How fast the measured rounds were.</param>
    public ProfileRecord? Read(IReadOnlyList<double> rates)
    {
        if (_done is not { } done)
        {
            return null;
        }

        try
        {
            (ProfileRecord profile, string? starved) = TraceFile.Read(SamplesPath, done.Round.At, done.Round.Seconds, done.Round.Rate, done.Times);
            _findings.AddRange(starved is null ? [] : [new Finding(FindingLevel.Note, starved)]);
            if (profile.Samples == 0)
            {
                _findings.Add(new Finding(FindingLevel.Note, "The profile has no samples of work: all threads were waiting each time."));
            }

            AddCost(done.Round.Rate, rates);
            profile = profile with { Rate = done.Round.Rate };
            return _awaited is { } awaited ? profile with { Awaits = TraceFile.Awaits(AwaitsPath, awaited.At), AwaitsRate = awaited.Rate } : profile;
        }
        catch (Exception e)
        {
            AddFinding(e.Message);
            return null;
        }
    }

    public void Dispose()
    {
        try
        {
            Directory.Delete(_folder, recursive: true);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // It lies where temporary files do.
        }
    }

    private static void Copy(EventPipeSession session, string path, long most)
    {
        try
        {
            using FileStream file = File.Create(path);
            byte[] bytes = new byte[1 << 16];
            bool isFull = false;
            while (session.EventStream.Read(bytes) is > 0 and int read)
            {
                file.Write(bytes.AsSpan(0, read));
                if (file.Length > most && !isFull)
                {
                    // What follows are the names of the methods.
                    isFull = true;
                    _ = session.StopAsync(CancellationToken.None);
                }
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or UnauthorizedAccessException)
        {
            // The reading of the file says what is missing.
        }
    }

    private void AddCost(double rate, IReadOnlyList<double> rates)
    {
        double usual = rates.Count == 0 ? 0 : Spread.Of(rates).Median;
        if (rate < usual * (1 - MostSlower))
        {
            _findings.Add(new Finding(
                FindingLevel.Note, FormattableString.Invariant($"The profiled round was {(1 - (rate / usual)) * 100:0} % slower than the measured ones.")));
        }
    }

    private void AddFinding(string why) =>
        _findings.Add(new Finding(FindingLevel.Note, $"There is no profile: {why.TrimEnd('.')}. The rounds are not affected."));

    // One window of events: when it was in UTC, how long of it was measured, and how fast.
    private readonly record struct Recorded((DateTime Begin, DateTime End) At, double Seconds, double Rate);
}
