using Weir.Explore.Rewriting;
using Weir.Explore.Searching;

namespace Weir.Explore;

/// <summary>
/// Runs a body many times under a scheduler that chooses at each point which thread goes on. Thread-safe: searches of one process take turns.
/// </summary>
public static class Explore
{
    private const string Variable = "WEIR_SCHEDULE";
    private const int StepsShown = 400;

    private const string NotTheSame =
        "The program did not do the same again: a choice that it had before was not there, or it ended in another way. It may use random numbers, hash " +
        "codes, the real time, what the process keeps, or threads that the explorer does not know.";

    private static readonly System.Threading.Lock _lock = new();

    /// <summary>Searches, and throws if a schedule fails.</summary>
    /// <param name="body">
    /// What is run each time, on rewritten copies of its assembly and those that it needs. A lambda that captures nothing but values of the base library.
    /// </param>
    /// <param name="options">How far to search; the default is every schedule with up to 2 preemptions.</param>
    /// <returns>How many schedules were run, and whether these were all.</returns>
    /// <exception cref="ExploreException">A schedule fails. The message has its steps and what replays it.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of its range.</exception>
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

                    return new ExploreResult
                    {
                        Schedules = runner.Schedules,
                        Points = runner.Points,
                        Choices = runner.Choices,
                        IsReduced = options.IsReduced && bounded is not null,
                        IsExhausted = bounded is { IsExhausted: true },
                        ExhaustedPreemptions = bounded?.ExhaustedPreemptions,
                        Elapsed = watch.Elapsed,
                        Failure = failed?.Failure is null ? null : Describe(failed, name, foundAt),
                    };
                }
                catch (DivergedException) when (Statics.Count != classes)
                {
                    // It begins again, with all classes initialized that there are by now.
                    runner.BeginAgain();
                }
                catch (DivergedException)
                {
                    throw new ExploreException(NotTheSame);
                }
            }
        }
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
        Message = failed.Failure.Kind == FailureKind.Deadlock ? failed.Failure.Message + failed.Elsewhere() : failed.Failure.Message,
        Exception = failed.Failure.Exception,
        Steps = [.. failed.Trace.TakeLast(StepsShown).Select(static s => $"  {s.Id} {s.Name}: {s.Site}")],
        Preemptions = failed.Preemptions,
        FoundAt = foundAt,
        Schedule = ScheduleText.Write(name, ScheduleText.Choices(failed.Decisions)),
    };
}
