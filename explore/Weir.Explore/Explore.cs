using System.Globalization;
using Weir.Explore.Rewriting;
using Weir.Explore.Searching;

namespace Weir.Explore;

/// <summary>
/// Runs a body many times under a scheduler that chooses at each point which thread runs. Thread-safe: a process makes one search at a time. A preview: it may
/// change in any version.
/// </summary>
public static class Explore
{
    private const string Variable = "WEIR_SCHEDULE";
    private const int StepsShown = 400;

    private const string NotTheSame =
        "The program did not do the same again: a choice that it had before was not there, or it ended in another way. It may use random numbers, hash " +
        "codes, the real time, state of the process, or threads that the explorer does not know.";

    private static readonly System.Threading.Lock _lock = new();

    /// <summary>Searches, and throws if a schedule fails.</summary>
    /// <param name="body">
    /// What is run each time, on rewritten copies of its assembly and those that it needs. A lambda that captures nothing but values of the base library.
    /// </param>
    /// <param name="options">How far to search; the default is every schedule with up to 2 preemptions.</param>
    /// <returns>How many schedules were run, and whether these were all.</returns>
    /// <exception cref="ExploreException">A schedule fails. The message has its steps and what replays it.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of its range.</exception>
    /// <exception cref="ArgumentException"><see cref="ExploreOptions.MeantRaces"/> has a name that does not exist.</exception>
    /// <exception cref="NotSupportedException">The body captures what cannot be copied.</exception>
    public static ExploreResult Run(Func<Task> body, ExploreOptions? options = null)
    {
        ExploreResult result = Search(body, options);
        return result.Failure is null ? result : throw new ExploreException(result);
    }

    /// <summary>Searches. What it finds is in the result.</summary>
    /// <param name="body">As for <see cref="Run(Func{Task}, ExploreOptions?)"/>.</param>
    /// <param name="options">How far to search; the default is every schedule with up to 2 preemptions.</param>
    /// <returns>What was found, how many schedules were run, and whether these were all.</returns>
    /// <exception cref="ExploreException">The program does not do the same when it is run again.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of its range.</exception>
    /// <exception cref="ArgumentException"><see cref="ExploreOptions.MeantRaces"/> has a name that does not exist.</exception>
    /// <exception cref="NotSupportedException">The body captures what cannot be copied.</exception>
    public static ExploreResult Search(Func<Task> body, ExploreOptions? options = null) => Search(body, options, Environment.GetEnvironmentVariable(Variable));

    internal static ExploreResult Search(Func<Task> body, ExploreOptions? options, string? schedule)
    {
        ArgumentNullException.ThrowIfNull(body);
        options ??= new ExploreOptions();
        options.Check();
        string name = $"{body.Method.DeclaringType!.FullName}/{body.Method.Name}".Replace(':', '_');
        lock (_lock)
        {
            RewrittenProgram program = RewrittenProgram.Of(body.Method.Module.Assembly, options);
            Statics.Current = program.Statics;
            Statics.TriesLocks = false;
            ScheduleRunner runner = new(program.Bind(body), options);
            Stopwatch watch = Stopwatch.StartNew();
            bool IsOver() => runner.Schedules >= options.MaxSchedules || (options.MaxTime > TimeSpan.Zero && watch.Elapsed >= options.MaxTime);

            byte[] choices = [];
            bool isReplay = !string.IsNullOrEmpty(schedule) && ScheduleText.TryRead(schedule, name, out choices);
            while (true)
            {
                int classes = Statics.Count;
                try
                {
                    BoundedSearch? bounded = isReplay || options.Strategy != ExploreStrategy.Bounded ? null
                        : new BoundedSearch(runner, options.MaxPreemptions, IsOver, options.IsReduced);
                    Execution? failed = isReplay ? runner.Replay(choices)
                        : bounded is not null ? bounded.Find()
                        : FindAtRandom(runner, options, IsOver);
                    long foundAt = runner.Schedules;
                    if (failed?.Failure is not null && !isReplay)
                    {
                        runner.Confirm(failed);
                        failed = bounded is null && failed.Failure!.Kind != FailureKind.Hang ? new Shrinker(runner).Shrink(failed) : failed;
                    }

                    TimeSpan elapsed = watch.Elapsed;
                    (int Shared, int Unordered)? plain = bounded is { IsExhausted: true } ? CountPlain(body, options) : null;
                    return new ExploreResult
                    {
                        Schedules = runner.Schedules,
                        Points = runner.Points,
                        Choices = runner.Choices,
                        IsReduced = options.IsReduced && bounded is not null,
                        IsExhausted = bounded is { IsExhausted: true },
                        ExhaustedPreemptions = bounded?.ExhaustedPreemptions,
                        PlainAccesses = plain?.Shared,
                        UnorderedAccesses = plain?.Unordered,
                        Elapsed = elapsed,
                        Failure = failed?.Failure is null ? null : Describe(failed, name, foundAt),
                    };
                }
                catch (DivergedException) when (Statics.Count != classes)
                {
                    // It begins again, with all classes initialized that there are by now.
                    runner.BeginAgain();
                }
                catch (DivergedException) when (isReplay && !Statics.TriesLocks)
                {
                    // The search that had found it knew that another schedule tries locks.
                    Statics.TriesLocks = true;
                }
                catch (DivergedException)
                {
                    throw new ExploreException(NotTheSame);
                }
            }
        }
    }

    private static (int Shared, int Unordered)? CountPlain(Func<Task> body, ExploreOptions options)
    {
        options = options with { DataRaces = true, StoreBuffers = false, Reduction = false };
        RewrittenProgram told = RewrittenProgram.Of(body.Method.Module.Assembly, options);
        Statics.Current = told.Statics;
        return ScheduleRunner.CountPlain(told.Bind(body), options);
    }

    private static Execution? FindAtRandom(ScheduleRunner runner, ExploreOptions options, Func<bool> isOver)
    {
        for (int i = 0; !isOver(); i++)
        {
            int seed = unchecked((options.Seed * 397) ^ (i * (int)2654435761));
            Execution execution = runner.Run(
                () => options.Strategy == ExploreStrategy.Pct ? new PctChooser(new Random(seed), options.Depth, runner.Choices) : new RandomChooser(seed));
            if (execution.Failure is not null)
            {
                return execution;
            }
        }

        return null;
    }

    private static ExploreFailure Describe(Execution failed, string name, long foundAt) => new()
    {
        Kind = failed.Failure!.Kind,
        Message = failed.Failure.Kind == FailureKind.Deadlock ? failed.Failure.Message + failed.FindUncontrolled() : failed.Failure.Message,
        Exception = failed.Failure.Exception,
        Steps = [.. failed.Trace.TakeLast(StepsShown).Select(static s => $"  {s.Id} {s.Name}: {s.Site}")],
        Preemptions = failed.Preemptions,
        FoundAt = foundAt,
        Schedule = ScheduleText.Write(name, ScheduleText.Choices(failed.Decisions)),
    };
}

/// <summary>What a search came to.</summary>
public sealed record ExploreResult
{
    /// <summary>How many schedules were run, those for shrinking included.</summary>
    public required long Schedules { get; init; }

    /// <summary>The most points that a schedule had.</summary>
    public required int Points { get; init; }

    /// <summary>The most choices between threads that a schedule had.</summary>
    public required int Choices { get; init; }

    /// <summary>Whether every schedule up to the bound was run.</summary>
    public required bool IsExhausted { get; init; }

    /// <summary>Whether schedules were left that came to a state of another one: <see cref="ExploreOptions.Reduction"/>.</summary>
    public required bool IsReduced { get; init; }

    /// <summary>Up to how many preemptions every schedule was run; null if that was not begun, not ended, or the strategy is a random one.</summary>
    public required int? ExhaustedPreemptions { get; init; }

    /// <summary>
    /// How many accesses of plain fields and elements of arrays were no points, of those that several threads access and one of them writes. Counted after an
    /// exhausted search, in its first schedule; null otherwise.
    /// </summary>
    public int? PlainAccesses { get; init; }

    /// <summary>
    /// How many of the <see cref="PlainAccesses"/> nothing puts in order with another one, so that they could come, or be seen, in an order that was not
    /// searched. <see cref="ExploreOptions.DataRaces"/> names the first one, of all schedules.
    /// </summary>
    public int? UnorderedAccesses { get; init; }

    /// <summary>How long the search took.</summary>
    public required TimeSpan Elapsed { get; init; }

    /// <summary>What was found; null if nothing was.</summary>
    public ExploreFailure? Failure { get; init; }

    /// <summary>One line: whether it is exhausted, how many schedules there were, and what was no point.</summary>
    /// <returns>The line.</returns>
    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{(Failure is not null ? "failed" : IsExhausted ? "exhausted" : "not exhausted")}: {Schedules} schedules of at most {Points} points and " +
        $"{Choices} choices" +
        $"{(ExhaustedPreemptions is { } preemptions ? $", all{(IsReduced ? " but equal ones" : "")} with up to {preemptions} preemptions" : "")}, " +
        $"{Elapsed.TotalSeconds:0.00} s" +
        $"{(PlainAccesses is null ? "" : PlainAccesses == 0 ? "; no plain field is shared" : $"; {PlainAccesses} accesses of shared plain fields were no points")}" +
        $"{(PlainAccesses > 0 ? UnorderedAccesses > 0 ? $", and nothing orders {UnorderedAccesses} of them (see DataRaces)" : ", and are in order" : "")}");
}

/// <summary>A schedule that fails.</summary>
public sealed record ExploreFailure
{
    /// <summary>What is wrong.</summary>
    public required FailureKind Kind { get; init; }

    /// <summary>What is wrong, in words: the message of the exception, or who waits for what.</summary>
    public required string Message { get; init; }

    /// <summary>The exception, if there is one. Its type is that of the rewritten program.</summary>
    public Exception? Exception { get; init; }

    /// <summary>The steps of the schedule, in order: which thread, file and line, and what it does there.</summary>
    public required IReadOnlyList<string> Steps { get; init; }

    /// <summary>How often a thread that could continue was interrupted.</summary>
    public required int Preemptions { get; init; }

    /// <summary>How many schedules were run until this failure came.</summary>
    public required long FoundAt { get; init; }

    /// <summary>What to set the environment variable <c>WEIR_SCHEDULE</c> to, so that the same test runs this schedule alone.</summary>
    public required string Schedule { get; init; }

    /// <summary>All of it.</summary>
    /// <returns>Several lines.</returns>
    public override string ToString() =>
        $"{Kind} after {FoundAt} schedules, with {Preemptions} preemptions. {Message}\nThe schedule:\n{string.Join('\n', Steps)}\n" +
        $"To run it again: WEIR_SCHEDULE={Schedule}{(Exception is null ? "" : $"\n{Exception}")}";
}

/// <summary>A search has found a schedule that fails, or cannot continue.</summary>
public sealed class ExploreException : Exception
{
    /// <summary>A search that cannot continue.</summary>
    /// <param name="message">Why.</param>
    public ExploreException(string message)
        : base(message)
    {
    }

    internal ExploreException(ExploreResult result)
        : base(result.Failure!.ToString(), result.Failure.Exception) => Result = result;

    /// <summary>The search that has found the failure; null if it could not continue.</summary>
    public ExploreResult? Result { get; }
}
