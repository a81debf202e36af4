using System.Diagnostics.Tracing;
using Microsoft.Diagnostics.NETCore.Client;

namespace Weir.Cli.Profiling;

/// <summary>One more round of a measuring process, in which the runtime records the stacks of its threads and their allocations.</summary>
/// <remarks><see cref="Findings"/> reports any failure of this round. The rounds before it are not lost.</remarks>
internal sealed class ProfiledRound : IDisposable
{
    // A sample each millisecond: a thousand make a picture.
    private static readonly TimeSpan Least = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan EndPatience = TimeSpan.FromSeconds(30);

    // The variables that disable the runtime's diagnostics, in both spellings.
    private static readonly string[] Switches =
        ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC", "COMPlus_EnableDiagnostics", "COMPlus_EnableDiagnostics_IPC"];

    private readonly string _path = Path.Combine(Path.GetTempPath(), $"weir-{Guid.NewGuid():n}.nettrace");
    private readonly List<Finding> _findings = [];
    private ((DateTime Begin, DateTime End) Round, double Seconds, ThreadTimes Times)? _done;

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
            using EventPipeSession session = await Start(stop);
            Thread copying = new(() => Copy(session))
            {
                IsBackground = true,
                Name = "profile",
            };
            copying.Start();
            using ThreadTimes times = new();
            DateTime begin = DateTime.UtcNow;
            (double seconds, IReadOnlyList<string> troubles) = await window(Least);
            DateTime end = DateTime.UtcNow;
            times.Dispose();
            if (stop.IsCancellationRequested)
            {
                return;
            }

            // The names of the methods come now.
            await session.StopAsync(stop);
            if (!await Task.Run(() => copying.Join(EndPatience), CancellationToken.None))
            {
                AddFinding("the runtime did not end it");
                return;
            }

            _done = ((begin, end), seconds, times);
            _findings.AddRange(troubles.Select(static t => new Finding(FindingLevel.Note, $"In the profiled round: {t}")));
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

    /// <summary>What it found; <see langword="null"/> when it could not be made.</summary>
    public ProfileRecord? Read()
    {
        if (_done is not { } done)
        {
            return null;
        }

        try
        {
            (ProfileRecord profile, string? starved) = TraceFile.Read(_path, done.Round, done.Seconds, done.Times);
            _findings.AddRange(starved is null ? [] : [new Finding(FindingLevel.Note, starved)]);
            if (profile.Samples == 0)
            {
                _findings.Add(new Finding(FindingLevel.Note, "The profile has no samples of work: all threads were waiting each time."));
            }

            return profile;
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
            File.Delete(_path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // It lies where temporary files do.
        }
    }

    private static Task<EventPipeSession> Start(CancellationToken stop) => new DiagnosticsClient(Environment.ProcessId).StartEventPipeSessionAsync(
        [
            new EventPipeProvider("Microsoft-DotNETCore-SampleProfiler", EventLevel.Informational),

            // Collections (with allocations at this level), the names of methods (loader, compiler and code that was compiled before), and the pool's threads.
            new EventPipeProvider("Microsoft-Windows-DotNETRuntime", EventLevel.Verbose, 0x1 | 0x8 | 0x10 | 0x20 | 0x10000),

            // Awaits, and the names of some tasks.
            new EventPipeProvider("System.Threading.Tasks.TplEventSource", EventLevel.Verbose, 0x2 | 0x8),
        ],
        requestRundown: true,
        circularBufferMB: 256,
        stop);

    // On a thread of its own, which its frames tell from the measured code.
    private void Copy(EventPipeSession session)
    {
        try
        {
            using FileStream file = File.Create(_path);
            session.EventStream.CopyTo(file);
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or UnauthorizedAccessException)
        {
            // The reading of the file says what is missing.
        }
    }

    private void AddFinding(string why) =>
        _findings.Add(new Finding(FindingLevel.Note, $"There is no profile: {why.TrimEnd('.')}. The rounds are not affected."));
}
