using System.Diagnostics.Metrics;

namespace Weir.Core.Metering;

/// <summary>Histograms of durations, in seconds, with the advice that all of the library's have.</summary>
internal static class Durations
{
#if NET9_0_OR_GREATER
    // From a microsecond to five minutes, three a decade: the platform's own buckets begin at 5 ms.
    private static readonly InstrumentAdvice<double> Buckets = new()
    {
        HistogramBucketBoundaries =
        [
            1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300,
        ],
    };
#endif

    public static Histogram<double> Create(Meter meter, string name, string description) =>
#if NET9_0_OR_GREATER
        meter.CreateHistogram(name, "s", description, advice: Buckets);
#else
        meter.CreateHistogram<double>(name, "s", description);
#endif
}
