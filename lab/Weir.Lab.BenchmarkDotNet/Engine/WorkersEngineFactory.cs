using BenchmarkDotNet.Attributes;

namespace Weir.Lab.Benchmarks.Engine;

/// <summary>Makes the engine of a case: the lab's own for a case with workers, BenchmarkDotNet's for all others.</summary>
public sealed class WorkersEngineFactory : IEngineFactory
{
    /// <inheritdoc/>
    public IEngine CreateReadyToRun(EngineParameters engineParameters)
    {
        ArgumentNullException.ThrowIfNull(engineParameters);
        if (WorkersParameter.Of(engineParameters.TargetJob) is int workers)
        {
            return WorkersEngine.CreateReadyToRun(engineParameters, workers);
        }

        ThrowIfForgotten(engineParameters);
        return new EngineFactory().CreateReadyToRun(engineParameters);
    }

    // Otherwise, the figures of one worker would be shown as those of many.
    private static void ThrowIfForgotten(EngineParameters parameters)
    {
        if (parameters.WorkloadActionUnroll?.Target?.GetType().BaseType is Type type
            && type.GetMethods()
                .FirstOrDefault(m => m.IsDefined(typeof(BenchmarkAttribute)) && m.Name == BenchmarkBinder.NameOf(parameters.BenchmarkName)) is MethodInfo method
            && WorkersOrderer.CountsOf(method, type).Count > 0)
        {
            throw new NotSupportedException(
                $"[Workers] of {method.Name} was not seen: give it to the class too, or run it with LabBenchmarks.Run, and leave out other orderers.");
        }
    }
}
