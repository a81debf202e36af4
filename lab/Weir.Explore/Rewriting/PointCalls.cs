using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>The methods that rewritten code calls beside the replacements.</summary>
internal sealed class PointCalls(ModuleDefinition module)
{
    public MethodReference Step { get; } = module.ImportReference(typeof(Points).GetMethod(nameof(Points.Step)));

    public MethodReference Site { get; } = module.ImportReference(typeof(Points).GetMethod(nameof(Points.Site)));

    public MethodReference Unknown { get; } = module.ImportReference(typeof(Points).GetMethod(nameof(Points.Unknown)));

    public MethodReference Access { get; } = module.ImportReference(typeof(Points).GetMethod(nameof(Points.Access)));

    public MethodReference Fence { get; } = module.ImportReference(typeof(Points).GetMethod(nameof(Points.Fence)));

    public MethodReference Read { get; } = module.ImportReference(typeof(Stores).GetMethod(nameof(Stores.Read)));

    public MethodReference Write { get; } = module.ImportReference(typeof(Stores).GetMethod(nameof(Stores.Write)));

    public MethodReference Touch { get; } = module.ImportReference(typeof(Stores).GetMethod(nameof(Stores.Touch)));

    public MethodReference BarrierProcessWide { get; } = module.ImportReference(typeof(Stores).GetMethod(nameof(Stores.BarrierProcessWide)));

    public MethodReference Await { get; } = module.ImportReference(typeof(Builders).GetMethod(nameof(Builders.Await)));

    public MethodReference OnCompleted { get; } = module.ImportReference(typeof(AwaiterCalls).GetMethod(nameof(AwaiterCalls.OnCompleted)));

    public MethodReference Wait { get; } = module.ImportReference(typeof(AwaiterCalls).GetMethod(nameof(AwaiterCalls.Wait)));

    public MethodReference Register { get; } = module.ImportReference(typeof(Statics).GetMethod(nameof(Statics.Register)));

    public MethodReference RegisterThread { get; } = module.ImportReference(typeof(Statics).GetMethod(nameof(Statics.RegisterThread)));

    public MethodReference NewAction { get; } = module.ImportReference(typeof(Action).GetConstructors()[0]);
}
