namespace Weir.Explore.Tests;

/// <summary>How many schedules there are, which does not depend on the machine; how fast they are, the test prints.</summary>
public class SpeedTests(ITestOutputHelper output)
{
    [Theory(Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public void ThirtyPoints_OfThreeThreads_AreExhausted(bool dataRaces, bool reduction)
    {
        ExploreResult result = Explore.Run(
            static async () =>
            {
                int value = 0;
                await Task.WhenAll(Task.Run(Work), Task.Run(Work), Task.Run(Work));

                void Work()
                {
                    for (int i = 0; i < 6; i++)
                    {
                        Interlocked.Increment(ref value);
                    }
                }
            },
            new ExploreOptions { MaxSchedules = 30_000, DataRaces = dataRaces, Reduction = reduction });
        output.WriteLine($"{result}: {result.Schedules / result.Elapsed.TotalSeconds:0} schedules a second");
        Assert.InRange(result.Points, 25, 45);
        Assert.True(result.IsExhausted, result.ToString());
    }
}
