/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.nodeservice;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.ObjectName;
import javax.management.ReflectionException;

/**
 * The service's metrics as attributes of an MBean, with the names that the page {@code /metrics} has behind its
 * prefix. They can only be read. Any thread may call.
 */
final class StatusBean implements DynamicMBean {
  static final String NAME = "org.shufflerdma:type=NodeService";

  private final ServiceStatus status;

  private StatusBean(ServiceStatus status) {
    this.status = status;
  }

  /** Shows the metrics until the result is closed. Throws if this JVM shows another service's. */
  static AutoCloseable show(ServiceStatus status) throws IOException {
    try {
      ObjectName name = new ObjectName(NAME);
      ManagementFactory.getPlatformMBeanServer().registerMBean(new StatusBean(status), name);
      return () -> ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
    } catch (JMException e) {
      throw new IOException("the metrics cannot be shown by JMX", e);
    }
  }

  @Override
  public Object getAttribute(String attribute) throws AttributeNotFoundException {
    return status.values().entrySet().stream()
        .filter(value -> value.getKey().publicName().equals(attribute))
        .findFirst()
        .orElseThrow(() -> new AttributeNotFoundException(attribute))
        .getValue();
  }

  @Override
  public AttributeList getAttributes(String[] attributes) {
    List<String> wanted = List.of(attributes);
    AttributeList values = new AttributeList();
    status.values().forEach((metric, value) -> {
      if (wanted.contains(metric.publicName())) {
        values.add(new Attribute(metric.publicName(), value));
      }
    });
    return values;
  }

  @Override
  public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
    throw new AttributeNotFoundException(attribute.getName() + " can only be read");
  }

  @Override
  public AttributeList setAttributes(AttributeList attributes) {
    return new AttributeList();
  }

  @Override
  public Object invoke(String action, Object[] parameters, String[] signature)
      throws ReflectionException {
    throw new ReflectionException(new NoSuchMethodException(action));
  }

  @Override
  public MBeanInfo getMBeanInfo() {
    MBeanAttributeInfo[] attributes = Arrays.stream(ServiceMetric.values())
        .map(metric -> new MBeanAttributeInfo(
            metric.publicName(), "long", metric.meaning(), true, false, false))
        .toArray(MBeanAttributeInfo[]::new);
    return new MBeanInfo(
        StatusBean.class.getName(), "The node service of this host", attributes, null, null, null);
  }
}
