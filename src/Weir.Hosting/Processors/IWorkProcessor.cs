namespace Weir.Hosting;

/// <summary>The part of every processor that does not depend on the type of its items. Implement <see cref="IWorkProcessor{T}"/>.</summary>
public interface IWorkProcessor
{
    /// <summary>Tells the type of the items, without reflection. A processor of two types of items does not compile: a worker has one.</summary>
    internal static abstract void Accept(IItemTypeVisitor visitor);
}
