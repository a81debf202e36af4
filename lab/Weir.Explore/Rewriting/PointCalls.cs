using Mono.Cecil;
using Weir.Explore.Model;
using Weir.Explore.Scheduling;

namespace Weir.Explore.Rewriting;

/// <summary>The methods that rewritten code calls beside the replacements.</summary>
internal sealed class PointCalls(ModuleDefinition module)
{
    public MethodReference Step { get; } = module.ImportReference(typeof(Points).GetMethod(nameof(Points.Step)));

    public MethodReference Site { get; } = module.ImportReference(typeof(Points).GetMethod(nameof(Points.Site)));

    public MethodReference Unknown { get; } = module.ImportReference(typeof(Points).GetMethod(nameof(Points.Unknown)));

    public MethodReference Await { get; } = module.ImportReference(typeof(Builders).GetMethod(nameof(Builders.Await)));

    public MethodReference OnCompleted { get; } = module.ImportReference(typeof(AwaiterCalls).GetMethod(nameof(AwaiterCalls.OnCompleted)));

    public MethodReference Wait { get; } = module.ImportReference(typeof(AwaiterCalls).GetMethod(nameof(AwaiterCalls.Wait)));

    public MethodReference Register { get; } = module.ImportReference(typeof(Statics).GetMethod(nameof(Statics.Register)));

    public MethodReference RegisterThread { get; } = module.ImportReference(typeof(Statics).GetMethod(nameof(Statics.RegisterThread)));

    public MethodReference NewAction { get; } = module.ImportReference(typeof(Action).GetConstructors()[0]);
}
