using Weir.Lab.Suites.Catalog;

namespace Weir.Lab.Suites.Tests;

public class SuiteCatalogTests
{
    private static readonly string[] ReadmeFilter = ["*Core*", "*Batching*", "*Scaling*"];

    [Fact]
    public void Select_FilterOfTheReadme_GivesAllSuites() =>
        Assert.Equal(SuiteCatalog.Of(SuiteSet.Core), Selected(ReadmeFilter));

    [Fact]
    public void Select_Set_GivesItsSuites()
    {
        Assert.Equal(SuiteCatalog.Of(SuiteSet.Dataflow), SuiteCatalog.Select([], SuiteSet.Dataflow).Select(static suite => suite.Key));
        Assert.Equal(SuiteCatalog.Of(SuiteSet.Dataflow), Selected(["*Dataflow*"]));
        Assert.Empty(SuiteCatalog.Select(["*Core*"], SuiteSet.Dataflow));
        Assert.Equal(
            SuiteCatalog.Of(SuiteSet.Resilience).Where(static suite => !SuiteCatalog.Info(suite).OnlyByName),
            SuiteCatalog.Select([], SuiteSet.Resilience).Select(static suite => suite.Key));
        Assert.Empty(SuiteCatalog.Select(["*Core*"], SuiteSet.Resilience));
    }

    [Theory]
    [InlineData("*CoreOperatorsBenchmarks*", "CoreOperatorsBenchmarks")]
    [InlineData("*ConcurrencyScalingBenchmarks*", "ConcurrencyScalingBenchmarks")]
    [InlineData("*BatchingBenchmarks*", "BatchingBenchmarks")]
    [InlineData("*.SelectParallel_OrderedOutput", "CoreOperatorsBenchmarks")]
    public void Select_FilterOfThePublishedSuites_GivesTheSuite(string filter, string suite) =>
        Assert.Equal([suite], Selected([filter]).Select(static type => type.Name));

    [Fact]
    public void Select_NoFilter_LeavesOutWhatWaitsForMinutes()
    {
        IEnumerable<Type> selected = Selected([]);
        Assert.NotEmpty(selected);
        Assert.DoesNotContain(selected, static suite => SuiteCatalog.Info(suite).OnlyByName);
    }

    [Fact]
    public void Select_NothingMatches_GivesNothing() => Assert.Empty(Selected(["*Nowhere*"]));

    [Fact]
    public void Suites_PlacesOnThePage_AreDistinct() =>
        Assert.Distinct(SuiteCatalog.Suites.Select(static suite => (SuiteCatalog.Info(suite).Set, SuiteCatalog.Info(suite).Order)));

    private static IEnumerable<Type> Selected(string[] filters) => SuiteCatalog.Select(filters).Select(static suite => suite.Key);
}
