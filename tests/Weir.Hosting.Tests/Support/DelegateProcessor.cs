namespace Weir.Hosting.Tests.Support;

internal sealed class DelegateProcessor(Func<WorkItem<string>, CancellationToken, ValueTask> process) : IWorkProcessor<string>
{
    public ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken) => process(item, cancellationToken);
}
