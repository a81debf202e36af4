namespace Weir.Lab.Resources;

/// <summary>What the canary found.</summary>
/// <param name="Slowness">How long a piece took on average, as a multiple of its time on an undisturbed machine.</param>
/// <param name="Variation">The standard deviation of the pieces' times as a share of their mean.</param>
/// <param name="Hiccups">How many pieces took more than a millisecond longer than they should.</param>
internal readonly record struct CanaryReading(double Slowness, double Variation, int Hiccups)
{
    /// <summary>Whether no other program was running.</summary>
    public bool IsQuiet => Variation <= Canary.QuietVariation;
}
