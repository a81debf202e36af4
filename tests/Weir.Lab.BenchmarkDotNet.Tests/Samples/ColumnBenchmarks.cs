using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;

namespace Weir.Lab.Benchmarks.Tests.Samples;

/// <summary>A benchmark with the columns that attributes and configurations add.</summary>
[Config(typeof(Percentiles))]
[RankColumn, MValueColumn, KurtosisColumn, SkewnessColumn, StdErrorColumn, MinColumn, MaxColumn, Q1Column, Q3Column, IterationsColumn, CategoriesColumn]
[BenchmarkCategory("Columns")]
public class ColumnBenchmarks
{
    [Benchmark(Baseline = true)]
    public int One() => 1;

    [Benchmark]
    public int Two() => 1;

    private sealed class Percentiles : ManualConfig
    {
        public Percentiles() =>
            AddColumn(StatisticColumn.P0, StatisticColumn.P25, StatisticColumn.P50, StatisticColumn.P67, StatisticColumn.P80, StatisticColumn.P85,
                StatisticColumn.P90, StatisticColumn.P95, StatisticColumn.P100);
    }
}
