using System.Globalization;

namespace Weir.Explore.Scenarios;

/// <summary>
/// Searches a scenario: up to two preemptions, or as many schedules as WEIR_EXPLORE_SCHEDULES says (3,000 by default). If that was not all and the variable is
/// set, it goes on with as many schedules of PCT.
/// </summary>
internal static class Scenario
{
    private const long Default = 3_000;

    public static void Explored(this ITestOutputHelper output, Func<Task> body)
    {
        string? asked = Environment.GetEnvironmentVariable("WEIR_EXPLORE_SCHEDULES");
        ExploreOptions options = new() { MaxSchedules = asked is null ? Default : long.Parse(asked, CultureInfo.InvariantCulture) };
        ExploreResult result = Explore.Run(body, options);
        output.WriteLine(result.ToString());
        if (asked is not null && !result.IsExhausted)
        {
            output.WriteLine(Explore.Run(body, options with { Strategy = ExploreStrategy.Pct }).ToString());
        }
    }
}
