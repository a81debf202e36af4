using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Jobs;

namespace Weir.Lab.Suites;

/// <summary>An array of ten thousand bytes under each of four garbage collectors: jobs side by side, each in a process of its own.</summary>
[Config(typeof(Collectors))]
[MemoryDiagnoser]
public class CollectorBenchmarks
{
    /// <summary>Allocates.</summary>
    /// <returns>The array.</returns>
    [Benchmark(Description = "new byte[10kB]")]
    public byte[] Allocate() => new byte[10_000];

    private sealed class Collectors : ManualConfig
    {
        public Collectors()
        {
            foreach (bool server in (bool[])[true, false])
            {
                foreach (bool concurrent in (bool[])[true, false])
                {
                    AddJob(Job.ShortRun.WithGcServer(server).WithGcConcurrent(concurrent)
                        .WithId((concurrent ? "Background " : "") + (server ? "Server" : "Workstation")));
                }
            }
        }
    }
}
