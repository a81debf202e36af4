using System.Diagnostics;
using Weir.Explore.Rewriting;
using Weir.Explore.Scheduling;
using Weir.Explore.Searching;

namespace Weir.Explore;

/// <summary>
/// Runs a body many times under a scheduler that chooses at each point which thread goes on. Thread-safe: searches of one process take turns.
/// </summary>
public static class Explore
{
    private const string Variable = "WEIR_SCHEDULE";
    private const int StepsShown = 400;
    private static readonly System.Threading.Lock Gate = new();

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
        lock (Gate)
        {
            ScheduleRunner runner = new(RewrittenProgram.Of(body.Method.Module.Assembly, options.PointsAtFieldsOf).Bind(body), options);
            Stopwatch watch = Stopwatch.StartNew();
            bool IsOver() => runner.Schedules >= options.MaxSchedules || (options.MaxTime > TimeSpan.Zero && watch.Elapsed >= options.MaxTime);

            Execution? failed;
            BoundedSearch? bounded = null;
            long foundAt;
            if (!string.IsNullOrEmpty(schedule) && ScheduleText.TryRead(schedule, name, out byte[] choices))
            {
                Execution replayed = runner.Replay(choices);
                failed = replayed.Failure is null ? null : replayed;
                foundAt = runner.Schedules;
            }
            else
            {
                if (options.Strategy == ExploreStrategy.Bounded)
                {
                    bounded = new BoundedSearch(runner, options.MaxPreemptions, IsOver);
                    failed = bounded.Find();
                }
                else
                {
                    failed = FindAtRandom(runner, options, IsOver);
                }

                foundAt = runner.Schedules;
                if (failed is { Failure.Kind: not FailureKind.Hang } && bounded is null)
                {
                    failed = new Shrinker(runner).Shrink(failed);
                }
            }

            return new ExploreResult
            {
                Schedules = runner.Schedules,
                Points = runner.Points,
                Choices = runner.Choices,
                IsExhausted = bounded is { IsExhausted: true },
                ExhaustedPreemptions = bounded?.ExhaustedPreemptions,
                Elapsed = watch.Elapsed,
                Failure = failed is null ? null : Describe(failed, name, foundAt),
            };
        }
    }

    private static Execution? FindAtRandom(ScheduleRunner runner, ExploreOptions options, Func<bool> isOver)
    {
        for (int i = 0; !isOver(); i++)
        {
            int seed = HashOf(options.Seed, i);
            Execution execution = runner.Run(options.Strategy == ExploreStrategy.Pct ? new PctChooser(seed, options.Depth, runner.Choices) : new RandomChooser(seed));
            if (execution.Failure is not null)
            {
                return execution;
            }
        }

        return null;
    }

    private static int HashOf(int seed, int number) => unchecked((seed * 397) ^ (number * (int)2654435761));

    private static ExploreFailure Describe(Execution failed, string name, long foundAt) => new()
    {
        Kind = failed.Failure!.Kind,
        Message = failed.Failure.Message,
        Exception = failed.Failure.Exception,
        Steps = [.. failed.Trace.TakeLast(StepsShown).Select(static s => $"  {s.Id} {s.Name}: {s.Site}")],
        Preemptions = failed.Decisions.Count(static d => d.IsPreemption),
        FoundAt = foundAt,
        Schedule = ScheduleText.Write(name, ScheduleText.Choices(failed.Decisions)),
    };
}
