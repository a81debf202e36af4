using System.Runtime;
using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>Fails in a process whose collector is not as was asked for: the server's, not concurrent, two heaps, memory kept, a mask.</summary>
/// <remarks>
/// That it is not concurrent is an attribute. The generated program always says in its runtimeconfig whether it is, and then the runtime takes a variable
/// that is 0 for none. The other variables are not 0.
/// </remarks>
[GcConcurrent(false)]
public class CollectorBenchmarks
{
    [Benchmark]
    public int Collector()
    {
        IReadOnlyDictionary<string, object> settings = GC.GetConfigurationVariables();
        object[] found =
        [
            GCSettings.IsServerGC, GCSettings.LatencyMode, settings["HeapCount"], settings["RetainVM"], settings["NoAffinitize"],
            settings["GCHeapAffinitizeMask"],
        ];
        string text = string.Join(' ', found);
        return text == "True Batch 2 True True 3" ? found.Length : throw new InvalidOperationException($"The collector is {text}.");
    }
}
