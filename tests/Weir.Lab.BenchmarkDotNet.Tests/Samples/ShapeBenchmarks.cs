using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>A benchmark of each shape, under workers.</summary>
[Workers(1, 2)]
public class ShapeBenchmarks
{
    private int _count;

    [Params(3)]
    public int Start { get; set; }

    [GlobalSetup]
    public void Setup() => _count = Start;

    [Benchmark]
    public void Void() => _count++;

    [Benchmark]
    public int Int() => _count + 1;

    [Benchmark]
    public string Text() => "text";

    [Benchmark]
    public async Task Task() => await System.Threading.Tasks.Task.Yield();

    [Benchmark]
    public async Task<int> TaskOfInt()
    {
        await System.Threading.Tasks.Task.Yield();
        return Start;
    }

    [Benchmark]
    public ValueTask ValueTask() => default;

    [Benchmark]
    public ValueTask<int> ValueTaskOfInt() => new(Start);

    [Benchmark(OperationsPerInvoke = 4)]
    [Arguments(1, "a")]
    [Arguments(2, "b")]
    public int WithArguments(int number, string text) => number + text.Length + Start;

    [Benchmark]
    [Workers(3)]
    public int OfItsOwn() => Start;
}
