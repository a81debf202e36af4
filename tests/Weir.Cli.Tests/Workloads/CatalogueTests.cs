using Weir.Cli.Kit.Hosting;
using Weir.Cli.Tests.Support;
using Weir.Lab.Suites;
using Weir.Lab.Suites.Catalog;
using Weir.Lab.Catalog;
using Weir.Lab.Workloads;
using Weir.Tables.Auto;

namespace Weir.Cli.Tests.Workloads;

/// <summary>One catalogue: a workload is a class and a row, for all commands and suites.</summary>
[Collection(AloneInTheProcess.Name)]
public sealed class CatalogueTests : IDisposable
{
    public CatalogueTests() => BuiltIns.Add(new BuiltIn("doubling", "doubles a number", static _ => new DoublingWorkload()));

    public void Dispose() => BuiltIns.Reset();

    [Theory(Timeout = 300_000)]
    [InlineData("run doubling --workers 2 --rounds 1 --duration 20ms --quiet", "doubling: doubles a number")]
    [InlineData("scale doubling --workers 1,2 --rounds 2 --duration 20ms --fit none --quiet", "doubling: doubles a number", Explicit = true)]
    [InlineData("compare doubling noop --rounds 2 --duration 10ms --quiet", "doubling: doubles a number", Explicit = true)]
    [InlineData("load --workload doubling --count 200 --peers --trials 1 --batch-size 60", "doubles a number")]
    [InlineData("eng/tables auto-table --only doubling --rounds 1", "| doubling | 500,000 |", Explicit = true)]
    public async Task Command_WorkloadOfOneClassAndOneRow_IsMeasured(string arguments, string text)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);

        // What is compiled while a short round is measured makes it invalid; that is not asked here.
        Assert.True(result.ExitCode is ExitCode.Success or ExitCode.Invalid or ExitCode.Inconclusive, result.Error);
        Assert.Contains(text, result.Out, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Suites_WorkloadOfOneClassAndOneRow_IsACase()
    {
        List<string> names = [];
        foreach (SuiteCatalog.ParameterSet parameters in Assert.Single(SuiteCatalog.Select(["*CoreWorkloadsBenchmarks*"])))
        {
            names.AddRange((await parameters.CreateAsync(items: 20)).Select(static c => c.Name));
        }

        Assert.Equal(
            CoreWorkloadsBenchmarks.Names.Select(static name => $"Workload={name}").Order(StringComparer.Ordinal), names.Order(StringComparer.Ordinal));
        Assert.Contains("Workload=doubling", names);
    }

    [Fact]
    public void AutoWork_All_AreOfTheCatalogue() => Assert.All(AutoWork.All, static work => Assert.NotNull(BuiltIns.Find(work.Row)));

    [Theory(Timeout = 300_000)]
    [InlineData(1)]
    [InlineData(3)]
    public async Task Peers_EachOfTheCatalogue_GivesTheResultsInInputOrder(int limit)
    {
        int[] items = [.. Enumerable.Range(5, 200)];
        foreach (Peer peer in Peer.All)
        {
            int[] results = await peer.RunAsync(items, limit, static async (item, _) =>
            {
                await Task.Yield();
                return item * 2;
            }, TestContext.Current.CancellationToken);

            Assert.Equal(items.Select(static item => item * 2), results);
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task Peers_ItemFails_EndWithItsFailure()
    {
        int[] items = [.. Enumerable.Range(0, 5_000)];
        foreach (Peer peer in Peer.All)
        {
            await Assert.ThrowsAsync<InvalidDataException>(
                () => peer.RunAsync(items, 2, static (item, _) => item == 10 ? throw new InvalidDataException("No.") : new(item), CancellationToken.None));
        }
    }

    private sealed class DoublingWorkload : ItemWorkload
    {
        public override string Name => "doubling";

        public override Func<int, CancellationToken, ValueTask<int>> Call { get; } = static (item, _) => new ValueTask<int>((item * 2) & int.MaxValue);

        public override int Expect(int item) => (item * 2) & int.MaxValue;
    }
}
