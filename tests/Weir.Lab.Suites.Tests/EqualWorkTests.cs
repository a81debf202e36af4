using BenchmarkDotNet.Attributes;
using Weir.Lab.Suites.Checking;

namespace Weir.Lab.Suites.Tests;

public class EqualWorkTests
{
    [Fact(Timeout = 300_000)]
    public Task SetupAsync_EqualArms_Passes() => new Honest().SetupAsync();

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_EqualArms_MeasuresTheBareDelegate()
    {
        Honest suite = new();
        await suite.SetupAsync();
        Assert.Same(Fake.Double, suite.Delegate);
    }

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_ArmSkipsAnItem_Throws()
    {
        UnequalWorkException exception = await Assert.ThrowsAsync<UnequalWorkException>(new SkipsAnItem().SetupAsync);
        Assert.Equal("SkipsAnItem.Arm calls the delegate 9 times instead of 10.", exception.Message);
    }

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_ArmKnowsTheResults_Throws()
    {
        UnequalWorkException exception = await Assert.ThrowsAsync<UnequalWorkException>(new KnowsTheResults().SetupAsync);
        Assert.Equal("KnowsTheResults.Arm calls the delegate 0 times instead of 10.", exception.Message);
    }

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_ArmDropsAResult_Throws()
    {
        UnequalWorkException exception = await Assert.ThrowsAsync<UnequalWorkException>(new DropsAResult().SetupAsync);
        Assert.Equal("DropsAResult.Arm gives 9 results where Baseline gives 10.", exception.Message);
    }

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_ArmGivesAnotherOrder_Throws()
    {
        UnequalWorkException exception = await Assert.ThrowsAsync<UnequalWorkException>(new Reverses().SetupAsync);
        Assert.Equal("Reverses.Arm gives 20 at 0 where Baseline gives 2.", exception.Message);
    }

    [Fact(Timeout = 300_000)]
    public Task SetupAsync_ArmThatPromisesNoOrderGivesAnotherOne_Passes() => new ReversesAsItSays().SetupAsync();

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_NoBaseline_Throws() =>
        await Assert.ThrowsAsync<UnequalWorkException>(new NoBaseline().SetupAsync);

    [Fact(Timeout = 300_000)]
    public async Task SetupAsync_NothingToCompare_Throws()
    {
        Honest suite = new() { N = 0 };
        UnequalWorkException exception = await Assert.ThrowsAsync<UnequalWorkException>(suite.SetupAsync);
        Assert.Equal("Honest.Baseline gives no results, so nothing can be compared with it.", exception.Message);
    }

    [Fact]
    public void Of_ArmWithoutAResult_Throws() => Assert.Throws<UnequalWorkException>(() => Arm.Of(new NoResult()));

    public abstract class Fake : Suite
    {
        internal static readonly Func<int, CancellationToken, ValueTask<int>> Double = static (item, _) => new ValueTask<int>(item * 2);

        internal Func<int, CancellationToken, ValueTask<int>> Delegate { get; private set; } = Double;

        private protected override void Prepare(CallCounter? counter) => Delegate = CallCounter.Around(counter, Double);

        private protected async Task<List<int>> RunAsync(int count)
        {
            List<int> results = [];
            for (int item = 1; item <= count; item++)
            {
                results.Add(await Delegate(item, CancellationToken.None));
            }

            return results;
        }
    }

    public abstract class WithBaseline : Fake
    {
        public override int N { get; set; } = 10;

        [Benchmark(Baseline = true)]
        public Task<List<int>> Baseline() => RunAsync(N);
    }

    public class Honest : WithBaseline
    {
        [Benchmark]
        public async Task<int[]> Arm() => [.. await RunAsync(N)];
    }

    public class SkipsAnItem : WithBaseline
    {
        [Benchmark]
        public Task<List<int>> Arm() => RunAsync(N - 1);
    }

    public class KnowsTheResults : WithBaseline
    {
        [Benchmark]
        public int[] Arm() => [.. Enumerable.Range(1, N).Select(static item => item * 2)];
    }

    public class DropsAResult : WithBaseline
    {
        [Benchmark]
        public async Task<int[]> Arm() => [.. (await RunAsync(N)).Skip(1)];
    }

    public class Reverses : WithBaseline
    {
        [Benchmark]
        public async Task<int[]> Arm() => [.. (await RunAsync(N)).OrderDescending()];
    }

    public class ReversesAsItSays : WithBaseline
    {
        [Benchmark]
        [AnyOrder]
        public async Task<int[]> Arm() => [.. (await RunAsync(N)).OrderDescending()];
    }

    public class NoBaseline : Fake
    {
        [Benchmark]
        public Task<List<int>> Arm() => RunAsync(N);
    }

    public class NoResult : Fake
    {
        [Benchmark(Baseline = true)]
        public Task Arm() => RunAsync(N);
    }
}
