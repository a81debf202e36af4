namespace Weir.Lab.Suites.Workloads;

/// <summary>How a call lasts.</summary>
internal enum CallKind
{
    /// <summary>It blocks its thread.</summary>
    Sleep,

    /// <summary>It uses its processor.</summary>
    Spin,

    /// <summary>It returns a task that ends later.</summary>
    Await,
}
