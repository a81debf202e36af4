using Weir.Delivery.Cli.App;

return await CliApp.UntilSignalAsync(stop => WorkApp.RunAsync(args, new WorkCliHost(CliHost.OfProcess(WorkApp.Name, stop))
{
    In = Console.In,
    Lines = OperatingSystem.IsWindows() ? null : new DescriptorLines(Descriptor.Output),
}));
