using System.Globalization;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>
/// Searches a scenario: all schedules with up to two preemptions, and at most as many as WEIR_EXPLORE_SCHEDULES says (700 by default). If these were not
/// all, it goes on with as many schedules of PCT.
/// </summary>
internal static class Scenario
{
    private const string Default = "700";

    public static void Explored(this ITestOutputHelper output, Func<Task> body)
    {
        ExploreOptions options = new()
        {
            MaxSchedules = long.Parse(Environment.GetEnvironmentVariable("WEIR_EXPLORE_SCHEDULES") ?? Default, CultureInfo.InvariantCulture),
        };
        ExploreResult result = Explore.Run(body, options);
        output.WriteLine($"bounded, {result}");
        if (!result.IsExhausted)
        {
            output.WriteLine($"PCT, {Explore.Run(body, options with { Strategy = ExploreStrategy.Pct })}");
        }
    }
}
