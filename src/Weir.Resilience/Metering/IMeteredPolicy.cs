namespace Weir.Resilience;

/// <summary>A policy that calls share, as the meter sees it. Its counts are those that it has anyway.</summary>
internal interface IMeteredPolicy
{
    /// <summary>The name that the user gave it, or null.</summary>
    string? Name { get; }

    /// <summary>Adds what it is doing now. Called under no lock; runs no user code.</summary>
    void AddTo(PolicyCounts counts);
}
