/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.verbs;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** A test that is skipped where {@link TestDevice} is the system's; the value says why. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(OnSoftDevice.Condition.class)
public @interface OnSoftDevice {
  String value();

  /** Evaluates the annotation. */
  final class Condition implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      if (TestDevice.isSoft()) {
        return ConditionEvaluationResult.enabled("on the software device");
      }
      return AnnotationSupport.findAnnotation(context.getElement(), OnSoftDevice.class)
          .map(only -> ConditionEvaluationResult.disabled("software device only: " + only.value()))
          .orElseGet(() -> ConditionEvaluationResult.enabled("on any device"));
    }
  }
}
