using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>What the features of BenchmarkDotNet are shown on: small, fast, with parameters, setups, a baseline and categories.</summary>
public class FeatureBenchmarks
{
    private int[] _items = [];
    private int _iterations;

    public enum Kind
    {
        Small,
        Large,
    }

    [ParamsAllValues]
    public Kind Size { get; set; }

    [ParamsSource(nameof(Steps))]
    public int Step { get; set; }

    public static IEnumerable<int> Steps => [2];

    public static IEnumerable<object[]> Ranges() => [[0, 3], [1, 4]];

    [GlobalSetup]
    public void Prepare() => _items = new int[Size == Kind.Small ? 4 : 8];

    [GlobalCleanup]
    public void Forget() => _items = [];

    [IterationSetup(Target = nameof(Sum))]
    public void Begin() => _iterations++;

    [IterationCleanup(Target = nameof(Sum))]
    public void End() => ObjectDisposedException.ThrowIf(_iterations == 0, this);

    [Benchmark(Baseline = true)]
    [BenchmarkCategory("Loops")]
    public int Sum()
    {
        int sum = Step;
        foreach (int item in _items)
        {
            sum += item;
        }

        return sum;
    }

    [Benchmark(Description = "Sum in fours", OperationsPerInvoke = 4)]
    [BenchmarkCategory("Loops")]
    public int SumInFours() => _items[0] + _items[1] + _items[2] + _items[3];

    [Benchmark]
    [ArgumentsSource(nameof(Ranges))]
    [BenchmarkCategory("Spans")]
    public int Slice(int from, int to) => _items.AsSpan(from, to - from).Length;

    [Benchmark]
    [BenchmarkCategory("Allocating")]
    public byte[] Allocate() => new byte[1_000];
}
