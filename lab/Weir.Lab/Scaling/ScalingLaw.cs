namespace Weir.Lab.Scaling;

/// <summary>The laws of scaling, from the simplest. Each is the next one with a parameter that is zero.</summary>
internal enum ScalingLaw
{
    /// <summary>Each worker adds the same: <c>X(N) = lambda N</c>.</summary>
    Linear,

    /// <summary>A share of the work is done by one at a time: <c>X(N) = lambda N / (1 + sigma (N - 1))</c> (G. M. Amdahl, AFIPS 1967).</summary>
    Amdahl,

    /// <summary>Each pair of workers costs something as well: the Universal Scalability Law, see <see cref="UslModel"/>.</summary>
    Universal,
}
