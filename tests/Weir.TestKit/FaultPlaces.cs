using System.Collections.Concurrent;
using System.Reflection;
using System.Text.RegularExpressions;

namespace Weir.TestKit;

/// <summary>
/// The places at which the libraries work with no caller above them: they pass them in Debug builds (<c>FaultPoint</c>), and here one of them can fail as it
/// would without memory. Who else works in the process passes them too.
/// </summary>
public sealed partial class FaultPlaces : IDisposable
{
    private const int FewestRounds = 20;

    private static readonly TimeSpan Shortest = TimeSpan.FromSeconds(60);

    private readonly ConcurrentDictionary<string, int> _passed = new();
    private readonly Action<string, object> _handler;
    private readonly Func<string, object, bool> _isMine;
    private int _countdown = int.MaxValue;
    private int _failures;

    /// <param name="isMine">Whether a place, with whose work it is, is the test's own; null for all.</param>
    public FaultPlaces(Func<string, object, bool>? isMine = null)
    {
        _isMine = isMine ?? (static (_, _) => true);
        _handler = AtPlace;
        PlacePassed.AddMethod!.Invoke(null, [_handler]);
    }

    /// <summary>The places that were passed, and how often.</summary>
    public IReadOnlyDictionary<string, int> Passed => _passed;

    /// <summary>Whether one has failed since <see cref="FailAt"/>.</summary>
    public bool HasFailed => Volatile.Read(ref _countdown) <= 0;

    /// <summary>What failed last.</summary>
    public string? Failed { get; private set; }

    /// <summary>What is in the sources of a project: the names of all such places.</summary>
    /// <param name="project">The project.</param>
    /// <param name="except">Places that are left out, each by its file and a part of its line.</param>
    public static IReadOnlyCollection<string> InSources(string project, params (string File, string Text)[] except)
    {
        ArgumentNullException.ThrowIfNull(except);
        SortedSet<string> places = new(StringComparer.Ordinal);
        foreach (string file in SourcesOf(project))
        {
            string[] lines = File.ReadAllLines(file);
            for (int i = 0; i < lines.Length; i++)
            {
                string code = Comment().Replace(lines[i], "");
                if (Array.Exists(except, e => Path.GetFileName(file) == e.File && code.Contains(e.Text, StringComparison.Ordinal)))
                {
                    continue;
                }

                if (code.Contains("Unattended.Run(", StringComparison.Ordinal))
                {
                    places.Add($"{Path.GetFileName(file)}:{i + 1}");
                }

                foreach (Match named in Named().Matches(code))
                {
                    places.Add(named.Groups[1].Value);
                }
            }
        }

        return places;
    }

    /// <summary>Lets something run until it has passed all of these places. A round may miss some: where a thread is late, others do not wait for it.</summary>
    /// <returns>Those that many rounds have missed, for a minute at least: how often threads are late in a row is no number.</returns>
    public Task<IReadOnlyCollection<string>> MissedAsync(IEnumerable<string> places, Func<Task> round) => MissedAsync(places, _passed, round);

    /// <summary>The same for who counts by itself.</summary>
    public static async Task<IReadOnlyCollection<string>> MissedAsync(
        IEnumerable<string> places, IReadOnlyDictionary<string, int> passed, Func<Task> round)
    {
        ArgumentNullException.ThrowIfNull(places);
        ArgumentNullException.ThrowIfNull(passed);
        ArgumentNullException.ThrowIfNull(round);
        string[] missed = [.. places];
        long started = TimeProvider.System.GetTimestamp();
        for (int i = 0; missed.Length > 0 && (i < FewestRounds || TimeProvider.System.GetElapsedTime(started) < Shortest); i++)
        {
            await round();
            missed = [.. missed.Except(passed.Keys)];
        }

        return missed;
    }

    /// <summary>From now on, the place that is passed as the so-and-so-manieth fails, and the one after it too if that is asked for.</summary>
    public void FailAt(int at, int failures = 1)
    {
        Failed = null;
        _failures = failures;
        Volatile.Write(ref _countdown, at);
    }

    /// <summary>None fails any more.</summary>
    public void Pass() => FailAt(int.MaxValue);

    /// <summary>Waits for the end of a task, whatever it is. If there is none, the message says what failed.</summary>
    public async Task EndsAsync(Task task, string what)
    {
        try
        {
            await task.EndsAsync(what);
        }
        catch (TimeoutException e)
        {
            throw new TimeoutException($"{e.Message} What failed: {Failed ?? "nothing"}.", e);
        }
    }

    public void Dispose() => PlacePassed.RemoveMethod!.Invoke(null, [_handler]);

    private static EventInfo PlacePassed => Type.GetType("Weir.Core.FaultPoint, Weir.Core", throwOnError: true)!.GetEvent("Passed")!;

    private static IEnumerable<string> SourcesOf(string project) =>
        Directory.EnumerateFiles(Path.Combine(Repository.Root, "src", project), "*.cs", SearchOption.AllDirectories)
            .Where(static file => !file.Contains($"{Path.DirectorySeparatorChar}obj{Path.DirectorySeparatorChar}", StringComparison.Ordinal));

    private void AtPlace(string place, object owner)
    {
        if (!_isMine(place, owner))
        {
            return;
        }

        _passed.AddOrUpdate(place, 1, static (_, count) => count + 1);
        int left = Interlocked.Decrement(ref _countdown);
        if (left <= 0 && left > -_failures)
        {
            Failed = place;
            throw new InsufficientMemoryException(place);
        }
    }

    [GeneratedRegex(@"//.*$")]
    private static partial Regex Comment();

    [GeneratedRegex(@"FaultPoint\.Pass\(""([^""]+)""")]
    private static partial Regex Named();
}
