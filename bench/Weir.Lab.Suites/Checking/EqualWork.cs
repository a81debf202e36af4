namespace Weir.Lab.Suites.Checking;

/// <summary>Runs each arm of a suite once and throws unless all arms of a category called the delegate equally often and gave equal results.</summary>
internal static class EqualWork
{
    /// <summary>How often an arm that does not complete is tried.</summary>
    private const int Attempts = 3;

    /// <param name="suite">The suite, its parameters set and its delegates counting into <paramref name="counter"/>.</param>
    /// <param name="counter">Where the suite's delegates count their calls.</param>
    /// <param name="expectedCalls">
    /// How many calls each arm of a category must make; <see langword="null"/> where arms may differ, as when they leave early.
    /// </param>
    /// <param name="patience">After what time an arm that has not completed is tried again.</param>
    /// <param name="clock">What tells that time.</param>
    public static async Task VerifyAsync(object suite, CallCounter counter, Func<string, long?> expectedCalls, TimeSpan patience, TimeProvider clock)
    {
        IReadOnlyList<Arm> arms = Arm.Of(suite);
        foreach (IGrouping<string, Arm> category in arms.GroupBy(static arm => arm.Categories))
        {
            Arm baseline = category.SingleOrDefault(static arm => arm.IsBaseline)
                ?? throw new UnequalWorkException($"{Name(suite, category.Key)} needs exactly one baseline.");
            long[] wanted = await ResultsAsync(suite, baseline, counter, expectedCalls(category.Key), patience, clock);
            if (wanted.Length == 0)
            {
                throw new UnequalWorkException($"{Name(suite, baseline.Name)} gives no results, so nothing can be compared with it.");
            }

            foreach (Arm arm in category.Where(static arm => !arm.IsBaseline))
            {
                long[] results = await ResultsAsync(suite, arm, counter, expectedCalls(category.Key), patience, clock);
                Compare(suite, baseline, wanted, arm, results);
            }
        }
    }

    private static void Compare(object suite, Arm baseline, long[] wanted, Arm arm, long[] results)
    {
        if (results.Length != wanted.Length)
        {
            throw new UnequalWorkException($"{Name(suite, arm.Name)} gives {results.Length} results where {baseline.Name} gives {wanted.Length}.");
        }

        if (arm.IsAnyOrder || baseline.IsAnyOrder)
        {
            results = [.. results.Order()];
            wanted = [.. wanted.Order()];
        }

        int difference = results.AsSpan().CommonPrefixLength(wanted);
        if (difference < wanted.Length)
        {
            throw new UnequalWorkException(
                $"{Name(suite, arm.Name)} gives {results[difference]} at {difference} where {baseline.Name} gives {wanted[difference]}.");
        }
    }

    private static async Task<long[]> ResultsAsync(object suite, Arm arm, CallCounter counter, long? expectedCalls, TimeSpan patience, TimeProvider clock)
    {
        object? result = await CompletedAsync(suite, arm, counter, patience, clock);
        if (expectedCalls is { } expected && counter.Calls != expected)
        {
            throw new UnequalWorkException($"{Name(suite, arm.Name)} calls the delegate {counter.Calls} times instead of {expected}.");
        }

        return result switch
        {
            // Copied, because an arm may return a buffer that the next arm fills again.
            IEnumerable<int> many => [.. many.Select(static value => (long)value)],
            long[] many => many,
            int one => [one],
            long one => [one],
            _ => throw new UnequalWorkException($"{Name(suite, arm.Name)} returns {result?.GetType().Name ?? "nothing"}, which the check cannot compare."),
        };
    }

    private static async Task<object?> CompletedAsync(object suite, Arm arm, CallCounter counter, TimeSpan patience, TimeProvider clock)
    {
        for (int i = 0; i < Attempts; i++)
        {
            counter.Reset();
            Attempt<Result> attempt = new(patience, clock);
            _ = RunAsync(arm, attempt);
            if (await attempt.Outcome is { } result)
            {
                return result.Value;
            }
        }

        throw new UnequalWorkException(
            $"{Name(suite, arm.Name)} was run {Attempts} times and did not complete in {patience.TotalSeconds:0} s, so it cannot be compared.");
    }

    private static async Task RunAsync(Arm arm, Attempt<Result> attempt)
    {
        try
        {
            attempt.Succeed(new Result(await arm.ResultAsync()));
        }
        catch (Exception exception)
        {
            attempt.Fail(exception);
        }
    }

    private static string Name(object suite, string part) => $"{suite.GetType().Name}.{part}";

    private readonly record struct Result(object? Value);
}
