using System.Globalization;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>
/// Searches a scenario: all schedules with up to two preemptions, and at most 10,000; if these were not all, it goes on with PCT, for as many schedules as
/// WEIR_EXPLORE_SCHEDULES says. Without it, each of the two has 700 at most.
/// </summary>
internal static class Scenario
{
    private const int Bounded = 10_000;

    public static void Explored(this ITestOutputHelper output, Func<Task> body, ExploreOptions? options = null)
    {
        long schedules = long.Parse(Environment.GetEnvironmentVariable("WEIR_EXPLORE_SCHEDULES") ?? "700", CultureInfo.InvariantCulture);
        options = (options ?? new ExploreOptions()) with { MaxSchedules = Math.Min(schedules, Bounded) };
        ExploreResult result = Explore.Run(body, options);
        output.WriteLine($"bounded, {result}");
        if (!result.IsExhausted)
        {
            output.WriteLine($"PCT, {Explore.Run(body, options with { MaxSchedules = schedules, Strategy = ExploreStrategy.Pct })}");
        }
    }
}
