namespace Weir.Hosting;

/// <summary>Gets the type of the items of a processor.</summary>
internal interface IItemTypeVisitor
{
    void Visit<T>();
}
