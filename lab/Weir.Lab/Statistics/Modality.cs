using Perfolizer.Mathematics.Multimodality;

namespace Weir.Lab.Statistics;

/// <summary>Whether values lie around one place or several. Of several, a mean or a median tells little.</summary>
/// <param name="MValue">2 for one peak, 4 for two, and so on, and what lies between for peaks that are not sure.</param>
/// <param name="Modes">The places; one when there is only one, or when there are too few values to tell.</param>
internal sealed record Modality(double MValue, IReadOnlyList<double> Modes)
{
    /// <summary>From here on there are probably several modes.</summary>
    public const double Several = 2.8;

    // Fewer values always look like several heaps.
    private const int LeastValues = 6;

    /// <summary>Whether there are probably several modes.</summary>
    public bool IsMultimodal => MValue > Several;

    /// <summary>Looks for the modes of some values.</summary>
    public static Modality Of(IReadOnlyList<double> values)
    {
        ArgumentOutOfRangeException.ThrowIfZero(values.Count, nameof(values));
        double[] sorted = [.. values.Order()];
        double median = HodgesLehmann.MedianOf(sorted);
        if (sorted.Length < LeastValues || sorted[0] == sorted[^1])
        {
            return new Modality(2, [median]);
        }

        double mvalue = MValueCalculator.Calculate(sorted);
        if (!(mvalue > Several))
        {
            return new Modality(double.IsNaN(mvalue) ? 2 : mvalue, [median]);
        }

        double[] modes = [.. LowlandModalityDetector.Instance.DetectModes(sorted).Modes.Select(static m => m.Location)];
        return new Modality(mvalue, modes.Length > 0 ? modes : [median]);
    }
}
