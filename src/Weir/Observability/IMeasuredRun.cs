using Weir.Core.Metering;

namespace Weir.Observability;

/// <summary>A run whose counts can be read at any time.</summary>
internal interface IMeasuredRun
{
    RunLabel Label { get; }

    RunSample Sample();
}
