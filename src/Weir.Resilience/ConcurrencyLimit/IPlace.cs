namespace Weir.Resilience;

/// <summary>A permit of a <see cref="SharedConcurrencyLimit"/> that an attempt holds.</summary>
internal interface IPlace
{
    /// <summary>Returns it.</summary>
    void Leave();
}
